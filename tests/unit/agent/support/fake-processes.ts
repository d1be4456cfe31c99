import { constants } from 'node:os';
import type { ProcessTable } from '../../../../agent/gateway/process-table.ts';

/** A process as /proc shows it. */
interface FakeProcess {
  comm: string;
  argv?: string[];
  state?: string;
  startTicks?: number;
  uid?: number;
  /** Signals that it catches. */
  catches?: NodeJS.Signals[];
  blocks?: NodeJS.Signals[];
  mounts?: string;
  cgroup?: string;
  /** Error codes of system calls. */
  faults?: { stat?: string; mounts?: string; cgroup?: string; kill?: string };
  /** Called when its status is read. */
  onStatus?: () => void;
}

/** Processes in memory, by ID. */
export interface FakeProcesses extends ProcessTable {
  processes: Map<number, FakeProcess>;
  /** Signals that were sent, as `PID NAME`. */
  signals: string[];
}

/** Fields of /proc/PID/stat between the state and the start time. */
const FIELDS = '0 1 1 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0';

const maskOf = (signals: NodeJS.Signals[]): string =>
  signals
    .map((signal) => 1n << BigInt(constants.signals[signal] - 1))
    .reduce((mask, bit) => mask | bit, 0n)
    .toString(16)
    .padStart(16, '0');

/** Makes a table of an agent with the user 101 in its own mount namespace; other processes are in another one. */
export function fakeProcesses(given: [pid: number, process: FakeProcess][]): FakeProcesses {
  const processes = new Map(given);
  const signals: string[] = [];
  const fail = (code: string | undefined) => {
    if (code) throw Object.assign(new Error(code), { code });
  };
  const find = (pid: string | number, missing = 'ENOENT'): FakeProcess => {
    const found = processes.get(Number(pid));
    if (!found) fail(missing);
    return found as FakeProcess;
  };
  return {
    processes,
    signals,
    isShared: true,
    uid: 101,
    list: () => [...processes.keys()].map(String),
    read: (pid, file) => {
      const { comm, argv = [comm], state = 'S', startTicks = 1_000, uid = 101, faults, ...more } = find(pid);
      const { catches = ['SIGHUP', 'SIGUSR1', 'SIGUSR2'], blocks = [], onStatus } = more;
      if (file === 'cmdline') return argv.map((argument) => `${argument}\0`).join('');
      if (file === 'status') {
        onStatus?.();
        const masks = `SigBlk:\t${maskOf(blocks)}\nSigIgn:\t0000000000000000\nSigCgt:\t${maskOf(catches)}\n`;
        return `Name:\t${comm}\nUid:\t${uid}\t${uid}\t${uid}\t${uid}\nGid:\t0\t0\t0\t0\n${masks}`;
      }
      if (file === 'cgroup') {
        fail(faults?.cgroup);
        return `0::${more.cgroup ?? '/a'}\n`;
      }
      fail(faults?.stat);
      return `${pid} (${comm}) ${state} ${FIELDS} ${startTicks} 1 2 3\n`;
    },
    mountNamespace: (pid) => {
      if (pid === 'self') return 'mnt:[1]';
      const { mounts = 'mnt:[2]', faults } = find(pid);
      fail(faults?.mounts);
      return mounts;
    },
    kill: (pid, signal) => {
      fail(find(pid, 'ESRCH').faults?.kill);
      signals.push(`${pid} ${signal}`);
    },
  };
}
