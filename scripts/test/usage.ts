import { readFile } from 'node:fs/promises';

/** CPU time of a process that runs test files, and of the programs that it has waited for. */
export interface Use {
  files: string[];
  seconds: number;
}

/** The most that a process of `npm test` may use (seconds of CPU time): about twice what the longest takes. */
const BUDGET = 30;
const TICKS_PER_SECOND = 100;

/** Returns the use of the process with these arguments; `stat` is that of proc(5), and empty on other systems. */
export function useOf(args: string[], stat: string): Use {
  const files = args.filter((name) => name.endsWith('.test.ts')).map((name) => name.replace(/^.*\/tests\//, 'tests/'));
  const times = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number);
  return { files, seconds: times.reduce((sum, ticks) => sum + ticks, 0) / TICKS_PER_SECOND };
}

/** Reads what the processes have written, a line each. */
export async function readUses(file: string): Promise<Use[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Use);
}

/** Lists the processes with the most CPU time. */
export function describeUses(uses: Use[]): string {
  const sum = uses.reduce((total, { seconds }) => total + seconds, 0);
  const most = uses.toSorted((a, b) => b.seconds - a.seconds).slice(0, 10);
  return [`CPU time: ${sum.toFixed(0)} s, most of it in`, ...most.map((use) => `  ${describe(use)}`), ''].join('\n');
}

/** Returns the processes that exceed the budget of `npm test`, each as a message. */
export function overBudget(uses: Use[]): string[] {
  const over = uses.filter(({ seconds }) => seconds > BUDGET);
  return over.map((use) => `${describe(use)} of CPU time, and may use ${BUDGET} s: see CONTRIBUTING.md`);
}

const describe = ({ files, seconds }: Use) =>
  `${files[0]}${files.length > 1 ? ` and ${files.length - 1} others` : ''}: ${seconds.toFixed(1)} s`;
