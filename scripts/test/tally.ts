import { readFile } from 'node:fs/promises';

/** CPU time of a process that runs test files, and of the programs that it has waited for. */
interface Use {
  files: string[];
  seconds: number;
}

/** What a process of `npm test` may use in any case (seconds of CPU time): about twice what the longest takes. */
const BUDGET = 30;
/** The share of all CPU time that it may use as well, because some machines take twice as long for everything. */
const BUDGET_SHARE = 0.09;
const TICKS_PER_SECOND = 100;

/** A test or a whole suite. */
interface Entry {
  file: string;
  name: string;
}

/** Why a slow test is skipped. */
export const SLOW = 'only at full depth';

/** Results of tests. */
export interface Tally {
  passed: number;
  /** Number of slow tests that were skipped. */
  slow: number;
  uses: Use[];
  failed: (Entry & { error: string })[];
  skipped: (Entry & { reason: string })[];
}

const NOTHING: Tally = { passed: 0, slow: 0, failed: [], skipped: [], uses: [] };

/** Returns the tally of files, or of a directory, that couldn't run: one failure. */
export function tallyOfFailure(file: string, error: Error): Tally {
  return { ...NOTHING, failed: [{ file, name: 'could not run', error: error.message }] };
}

export function sumOfTallies(tallies: Tally[]): Tally {
  return {
    passed: tallies.reduce((sum, { passed }) => sum + passed, 0),
    slow: tallies.reduce((sum, { slow }) => sum + slow, 0),
    uses: tallies.flatMap(({ uses }) => uses),
    failed: tallies.flatMap(({ failed }) => failed),
    skipped: tallies.flatMap(({ skipped }) => skipped),
  };
}

/** Returns the tally of a group that can't run on this machine, with the reason in one line. */
export function tallyOfSkip(group: string, { message }: Error): Tally {
  const reason = message.replaceAll('\n', ' ');
  return { ...NOTHING, skipped: [{ file: `tests/${group}`, name: 'all tests', reason }] };
}

/** Describes the results of all groups: skipped tests with reasons, failures, and the totals in the last line. */
export function describeTallies(tallies: Tally[]): string {
  const { passed, slow, failed, skipped, uses } = sumOfTallies(tallies);
  return [
    ...(uses.length > 0 ? [describeUses(uses)] : []),
    ...listOf('Skipped', skipped, ({ reason }) => reason),
    ...listOf('Failed', failed, ({ error }) => beginningOf(error)),
    ...(slow > 0 ? [`${slow} tests run ${SLOW}, as do those in *.full.test.ts.`, ''] : []),
    `${passed} passed, ${failed.length} failed, ${skipped.length} skipped`,
  ].join('\n');
}

/** Long enough to identify the problem if only the end of a log is visible. */
function beginningOf(error: string): string {
  const [line = '', ...more] = error.slice(0, 2000).split('\n');
  return [line, ...more.slice(0, 19).map((text) => `    ${text}`)].join('\n');
}

const listOf = <T extends Entry>(title: string, tests: T[], reasonOf: (test: T) => string): string[] =>
  tests.length > 0 ? [`${title}:`, ...tests.map((test) => `  ${test.file}: ${test.name}: ${reasonOf(test)}`), ''] : [];

/** Returns the use of the process with these arguments; `stat` is that of proc(5), and empty on other systems. */
export function useOf(args: string[], stat: string): Use {
  const files = args.filter((name) => name.endsWith('.test.ts')).map((name) => name.replace(/^.*\/tests\//, 'tests/'));
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { files, seconds: ticks / TICKS_PER_SECOND };
}

/** Reads what the processes have written, a line each. */
export async function readUses(file: string): Promise<Use[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.match(/.+/g)?.map((line) => JSON.parse(line) as Use) ?? [];
}

/** Lists the processes with the most CPU time. */
function describeUses(uses: Use[]): string {
  const most = uses.toSorted((a, b) => b.seconds - a.seconds).slice(0, 10);
  return `CPU time: ${sumOf(uses).toFixed(0)} s, most of it in\n${most.map((use) => `  ${describe(use)}\n`).join('')}`;
}

/** Returns the processes that exceed the budget of `npm test`, each as a message. */
export function overBudget(uses: Use[]): string[] {
  const budget = Math.max(BUDGET, BUDGET_SHARE * sumOf(uses));
  const over = uses.filter(({ seconds }) => seconds > budget);
  return over.map((use) => `${describe(use)} of CPU time, and may use ${budget.toFixed(0)} s: see CONTRIBUTING.md`);
}

const sumOf = (uses: Use[]) => uses.reduce((total, { seconds }) => total + seconds, 0);

const describe = ({ files, seconds }: Use) =>
  `${files[0]}${files.length > 1 ? ` and ${files.length - 1} others` : ''}: ${seconds.toFixed(1)} s`;
