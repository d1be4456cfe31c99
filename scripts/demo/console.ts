import { inkFor } from '../../cli/terminal/ink.ts';
import { drawTimeline, type Moment } from '../../cli/terminal/timeline.ts';

/** True if colours and cursor movements are allowed. */
export const isTerminal = process.stdout.isTTY === true && !process.env.NO_COLOR;

/** Writes a text in a colour if colours are allowed. */
export const ink = inkFor(isTerminal);

export const bold = (text: string): string => ink('bold', text);
export const dim = (text: string): string => ink('dim', text);

/** Prints the headline of a part of the demo. */
export function headline(text: string): void {
  console.log(`\n${bold(text)}`);
}

/** Prints a line. */
export function say(text: string): void {
  console.log(`  ${text}`);
}

/** Prints a command and its output. */
export function show(command: string, output: string): void {
  console.log(`\n  ${ink('cyan', `$ ${command}`)}`);
  for (const line of output.trimEnd().split('\n')) console.log(`  ${line}`);
}

/** Draws a timeline: a line for each moment, with a bar as long as the time since the beginning. */
export function timeline(moments: Moment[]): void {
  for (const line of drawTimeline(moments, { columns: undefined, ink })) console.log(`  ${line}`);
}
