import type { Memory } from './measure.ts';

/** A row of a benchmark: the name of the measurement, the figure, and the target. */
export type Row = [what: string, measured: string | number, aim?: string | number | undefined];

/** Prints rows under headings, in columns. */
export function printTable(headings: string[], rows: readonly (string | number | undefined)[][]): void {
  const lines = [headings, ...rows.map((row) => headings.map((_, column) => String(row[column] ?? '')))];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const format = (line: string[]) => `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  console.log(format(headings));
  console.log(`|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`);
  for (const line of lines.slice(1)) console.log(format(line));
}

/** Returns the value below which a share (0 to 1) of the sorted numbers is. */
function quantile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Returns the median and 99th percentile of times in milliseconds. */
export const percentiles = (times: number[]): string =>
  `${quantile(times, 0.5).toFixed(0)}, ${quantile(times, 0.99).toFixed(0)} ms`;

/** Returns the current memory, with its peak in brackets, in MB. */
export const megabytes = ({ now, peak }: Memory): string => `${now.toFixed(0)} (${peak.toFixed(0)}) MB`;
