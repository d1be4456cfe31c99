import { readFileSync } from 'node:fs';

/** Memory limit of each program in the chart, in kB as in /proc. */
export const LIMIT_KB = 128 * 1024;

/** Reads a figure from proc_pid_status(5), in kB; 0 if the process has ended, or if this isn't Linux. */
export function memoryOf(pid: number, field: 'RssAnon' | 'VmHWM' | 'VmRSS'): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  } catch {
    return 0;
  }
}
