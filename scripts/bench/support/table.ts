import { createHistogram } from 'node:perf_hooks';
import type { Memory } from './measure.ts';

/** A row of a benchmark: the name of the measurement, the figure, and the target. */
export type Row = [what: string, measured: string | number, aim?: string | number | undefined];

/** Prints rows in columns. */
export function printTable(rows: readonly Row[]): void {
  console.table(Object.fromEntries(rows.map(([what, measured, aim = '']) => [what, { measured, aim }])));
}

/** Returns the median and 99th percentile of times in milliseconds. */
export function percentiles(times: number[]): string {
  const histogram = createHistogram();
  for (const time of times) histogram.record(Math.max(1, Math.round(time)));
  return `${histogram.percentile(50)}, ${histogram.percentile(99)} ms`;
}

/** Returns the current memory, with its peak in brackets, in MB. */
export const megabytes = ({ now, peak }: Memory): string => `${now.toFixed(0)} (${peak.toFixed(0)}) MB`;
