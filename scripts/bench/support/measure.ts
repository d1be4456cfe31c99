import { readFile } from 'node:fs/promises';
import { memoryOf } from '../../testbed/memory-limit.ts';

/** Resident memory of a process now, and its peak, in MB (10^6 bytes). */
export interface Memory {
  now: number;
  peak: number;
}

/** Reads the memory of a process; Linux only. */
export function readMemory(pid: number): Memory {
  const field = (name: 'VmRSS' | 'VmHWM') => (memoryOf(pid, name) * 1024) / 1e6;
  return { now: field('VmRSS'), peak: field('VmHWM') };
}

/** Reads the CPU time that a process has used, in seconds; Linux only. */
export async function readCpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  return ticks / 100;
}

/**
 * Adds up the series of a metric whose labels match; NaN if the program is unavailable. Throws if it has no such metric,
 * so that a metric with a new name isn't taken for zero.
 */
export async function readMetric(port: string, name: string, labels = /(?:)/): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined);
  if (!response) return Number.NaN;
  const lines = (await response.text()).split('\n');
  const type = `# TYPE ${name.replace(/_count$/, '')} `;
  if (!lines.some((line) => line.startsWith(type))) throw new Error(`the program has no metric ${name}`);
  const series = lines.filter((line) => line.split(/[{ ]/)[0] === name && labels.test(line));
  return series.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
