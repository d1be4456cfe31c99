import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import type { ControlPlane } from '../../testbed/control-plane.ts';
import { readMetric } from '../controller/start-controller.ts';
import { readCpuSeconds, readMemory } from '../process-usage.ts';
import type { Program } from './programs.ts';

/** Between two looks at the memory, and between two scrapes, in milliseconds: a scrape costs the program something. */
const LOOK_MS = { memory: 250, heap: 15_000 };

/** What a program took at most. */
export interface Peak {
  /** Memory that the kernel cannot take back, in MiB. */
  anonymousMib: number;
  /** Heap in use, garbage included, in MB. */
  heapMb: number;
}

/** Notes what programs take at most until it is stopped; more may join the list meanwhile. */
export class MemoryWatch {
  readonly peaks = new Map<string, Peak>();
  readonly #timers: NodeJS.Timeout[];

  constructor(programs: readonly Program[]) {
    const every = (ms: number, look: (program: Program) => unknown) =>
      setInterval(() => programs.forEach(look), ms).unref();
    this.#timers = [
      every(LOOK_MS.memory, (program) => this.#note(program, { anonymousMib: anonymousMibOf(program.pid), heapMb: 0 })),
      every(LOOK_MS.heap, (program) => this.#scrape(program)),
    ];
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  async #scrape(program: Program): Promise<void> {
    const heap = await readMetric(program.metricsPort, /^nodejs_heap_size_used_bytes /).catch(() => 0);
    this.#note(program, { anonymousMib: 0, heapMb: heap / 1e6 });
  }

  #note({ name }: Program, { anonymousMib, heapMb }: Peak): void {
    const peak = this.peaks.get(name) ?? { anonymousMib: 0, heapMb: 0 };
    this.peaks.set(name, {
      anonymousMib: Math.max(peak.anonymousMib, anonymousMib),
      heapMb: Math.max(peak.heapMb, heapMb),
    });
  }
}

/** Now, or before anybody looked: the peak of all resident memory, without the files that are in it now. */
function anonymousMibOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const field = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024;
    return Math.max(field('RssAnon'), field('VmHWM') - field('RssFile'));
  } catch {
    return 0; // it has just ended
  }
}

/** Processor time in seconds so far, by whom. */
export type CpuTimes = Map<string, number>;

/** What everybody has used: the programs, the control plane, this process and what it started (git). */
export async function readCpuTimes(programs: Program[], cluster: ControlPlane): Promise<CpuTimes> {
  const times: CpuTimes = new Map();
  for (const { name, pid } of programs) times.set(name, await readCpuSeconds(pid).catch(() => 0));
  for (const [name, pid] of await findControlPlane(cluster)) times.set(name, await readCpuSeconds(pid));
  const own = process.cpuUsage();
  times.set('load', (own.user + own.system) / 1e6);
  times.set('git', await readCpuSecondsOfChildren());
  times.set('all of the machine', await readCpuSecondsOfMachine());
  return times;
}

/** Resident memory of the API server, in MB. */
export async function apiServerMemory(cluster: ControlPlane): Promise<number> {
  const pid = (await findControlPlane(cluster)).get('kube-apiserver');
  return pid === undefined ? Number.NaN : (await readMemory(pid)).now;
}

/** Process ids of a control plane's programs by their names; their arguments name its folder. */
export async function findControlPlane({ dir }: ControlPlane): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const command = await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '');
    const name = /^[^\0]*\/(etcd|kube-apiserver|kube-controller-manager)\0/.exec(command)?.[1];
    if (name && command.includes(`${dir}/`)) found.set(name, Number(entry));
  }
  return found;
}

/** Of children that have ended: of each request to the git server, of each commit. */
async function readCpuSecondsOfChildren(): Promise<number> {
  const stat = await readFile('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** Of everybody, on all cores. */
async function readCpuSecondsOfMachine(): Promise<number> {
  const [first = ''] = (await readFile('/proc/stat', 'utf8')).split('\n');
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = first.split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softirq) / 100;
}
