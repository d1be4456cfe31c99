const isTerminal = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
const style = (code: string) => (text: string) => (isTerminal ? `\u001b[${code}m${text}\u001b[0m` : text);

export const bold = style('1');
export const dim = style('2');
const green = style('32');
const cyan = style('36');

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
  console.log(`\n  ${cyan(`$ ${command}`)}`);
  for (const line of output.trimEnd().split('\n')) console.log(`  ${line}`);
}

/** One step of a delivery, in milliseconds from its beginning. */
export interface Moment {
  what: string;
  atMs: number;
}

const BAR_WIDTH = 40;

/** Draws a timeline: a line for each moment, with a bar as long as it took from the beginning. */
export function timeline(moments: Moment[]): void {
  const longest = Math.max(...moments.map(({ atMs }) => atMs), 1);
  for (const { what, atMs } of moments) {
    const bar = '━'.repeat(Math.max(1, Math.round((atMs / longest) * BAR_WIDTH)));
    console.log(`  ${`${atMs.toFixed(0)} ms`.padStart(9)}  ${green(bar.padEnd(BAR_WIDTH))}  ${what}`);
  }
}
