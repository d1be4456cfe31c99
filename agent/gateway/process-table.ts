import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Files of a process that all users can read. */
export type ProcessFile = 'stat' | 'status' | 'cmdline' | 'cgroup';

/** The processes that the agent can see, as /proc shows them. Each call throws the error of its system call. */
export interface ProcessTable {
  /** Whether the containers of the pod share a process namespace. A pod that uses the node's doesn't. */
  isShared: boolean;
  /** The agent's user. */
  uid: number;
  /** IDs of all processes. */
  list(): string[];
  /** Reads a file of a process as Latin-1, so that each byte is one character. */
  read(pid: string, file: ProcessFile): string;
  /** The mount namespace of a process, or of the agent (`self`). */
  mountNamespace(pid: string): string;
  kill(pid: number, signal: NodeJS.Signals): void;
}

/** Returns the real processes. */
export const processTable = (isShared: boolean, uid: number): ProcessTable => ({
  isShared,
  uid,
  list: () => readdirSync('/proc').filter((name) => /^\d+$/.test(name)),
  read: (pid, file) => readFileSync(`/proc/${pid}/${file}`, 'latin1'),
  mountNamespace: (pid) => readlinkSync(`/proc/${pid}/ns/mnt`),
  kill: (pid, signal) => {
    // biome-ignore lint/style/noRestrictedGlobals: only the process object can send a signal
    process.kill(pid, signal);
  },
});
