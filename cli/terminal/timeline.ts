import type { Ink } from './ink.ts';
import { cut, plain } from './text.ts';

/** One step, timed in milliseconds from the start. */
export interface Moment {
  what: string;
  atMs: number;
}

const BAR_WIDTH = 40;
const BEFORE_WORDS = 9 + 2 + 2;

/** Draws a timeline with one line per step, and a bar for the time since the start. */
export function drawTimeline(
  moments: readonly Moment[],
  { columns = 120, ink }: { columns: number | undefined; ink: Ink },
): string[] {
  const longest = Math.max(...moments.map(({ atMs }) => atMs), 1);
  const width = Math.max(5, Math.min(BAR_WIDTH, Math.floor((columns - BEFORE_WORDS) / 3)));
  return moments.map(({ what, atMs }) => {
    const bar = '━'.repeat(Math.min(width, Math.max(1, Math.round((atMs / longest) * width))));
    const words = cut(plain(what), Math.max(columns - BEFORE_WORDS - width, 8));
    return `${`${atMs.toFixed(0)} ms`.padStart(9)}  ${ink('green', bar.padEnd(width))}  ${words}`;
  });
}
