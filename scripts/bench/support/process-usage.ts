import { readFile } from 'node:fs/promises';

/** Memory of a process in MB (10^6 bytes). */
export interface Memory {
  /** Resident memory now, and its peak. */
  now: number;
  peak: number;
  /** The part of it that the kernel can't reclaim. */
  own: number;
}

/** Reads the memory of a process; Linux only. */
export async function readMemory(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const field = (name: string) => (Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024) / 1e6;
  return { now: field('VmRSS'), peak: field('VmHWM'), own: field('RssAnon') };
}

/** Reads the CPU time that a process has used, in seconds; Linux only. */
export async function readCpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  return ticks / 100;
}
