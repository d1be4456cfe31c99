import { inkFor } from '../../cli/terminal/ink.ts';
import { drawTimeline, type Moment } from '../../cli/terminal/timeline.ts';

/** Whether colours, and movements of the cursor, are welcome. */
export const isTerminal = process.stdout.isTTY === true && !process.env.NO_COLOR;

/** Writes a text in a colour, where colours are welcome. */
export const ink = inkFor(isTerminal);

export const bold = (text: string): string => ink('bold', text);
export const dim = (text: string): string => ink('dim', text);

/** Begins a part of the demo. */
export function headline(text: string): void {
  console.log(`\n${bold(text)}`);
}

/** Says one thing. */
export function say(text: string): void {
  console.log(`  ${text}`);
}

/** Shows what a command prints. */
export function show(command: string, output: string): void {
  console.log(`\n  ${ink('cyan', `$ ${command}`)}`);
  for (const line of output.trimEnd().split('\n')) console.log(`  ${line}`);
}

/** Draws a timeline: a line for each moment, with a bar as long as it took from the beginning. */
export function timeline(moments: Moment[]): void {
  for (const line of drawTimeline(moments, { columns: undefined, ink })) console.log(`  ${line}`);
}
