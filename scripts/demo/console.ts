import { runProgram } from '../../cli/program/run.ts';
import { inkFor } from '../../cli/terminal/ink.ts';
import { drawTimeline, type Moment } from '../../cli/terminal/timeline.ts';
import { NAMESPACE } from './objects.ts';

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

/** Draws a timeline: a line for each moment, with a bar as long as the time since the beginning. */
export function timeline(moments: Moment[]): void {
  for (const line of drawTimeline(moments, { columns: undefined, ink })) console.log(`  ${line}`);
}

/** Columns of the console that the demo indents. */
const INDENT = 2;

/** Prints a command of `kubectl stoker` and its output; it runs in this process. */
export async function showPlugin(kubeconfig: string, ...line: string[]): Promise<void> {
  let output = '';
  const add = (text: string) => {
    output += text;
  };
  await runProgram([...line, '--namespace', NAMESPACE, '--kubeconfig', kubeconfig], {
    print: add,
    note: add,
    hasColours: isTerminal,
    confirm: undefined,
    now: () => Date.now(),
    columns: isTerminal ? process.stdout.columns - INDENT : undefined,
  });
  console.log(`\n  ${ink('cyan', `$ kubectl stoker ${line.join(' ')}`)}`);
  for (const each of output.trimEnd().split('\n')) say(each);
}
