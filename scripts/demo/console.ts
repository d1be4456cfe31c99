/** Whether colours, and movements of the cursor, are welcome. */
export const isTerminal = process.stdout.isTTY === true && !process.env.NO_COLOR;

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36, grey: 90 };

/** Writes a text in a colour, where colours are welcome. */
export const ink = (colour: keyof typeof CODES, text: string): string =>
  isTerminal ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text;

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
    console.log(`  ${`${atMs.toFixed(0)} ms`.padStart(9)}  ${ink('green', bar.padEnd(BAR_WIDTH))}  ${what}`);
  }
}
