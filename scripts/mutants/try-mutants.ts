import '../test/slim-imports.ts';
import { existsSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { type CollectedTest, collectTests, failureOf } from './collected-tests.ts';

// A process of `npm run mutants`: loads the programs with all mutants and their tests once, and tries one mutant after
// another.

/** A test that passes without a mutant, and how often it reaches each mutant. */
interface SurveyedTest {
  name: string;
  ms: number;
  reached: Record<string, number>;
}

/** A line of output. Mutants that only run when a module is loaded are tried too late. */
export interface Progress {
  skipped?: string;
  trying?: string;
  tried?: string;
  by?: string | undefined;
  isReached?: boolean;
  isTooLate?: boolean;
}

/** What the instrumented programs read and write. */
const stryker: {
  currentTestId?: string | undefined;
  mutantCoverage?: { static: Record<string, number>; perTest: Record<string, Record<string, number>> };
} = {};
Object.assign(globalThis, { __stryker__: stryker });
const collected = import.meta.resolve('./collected-tests.ts');
registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'node:test' ? collected : specifier, context),
});

/** What an earlier process found out. */
const SURVEY = 'survey.json';
const { files, ids } = JSON.parse(readFileSync('job.json', 'utf8')) as Record<'files' | 'ids', string[]>;
const report = (progress: Progress) => writeSync(1, `\nprogress ${JSON.stringify(progress)}\n`);
const tests = new Map<string, CollectedTest>();
for (const file of files) {
  try {
    const found = await collectTests(file, () => import(path.resolve(file)));
    // Titles can repeat.
    for (const [index, test] of found.entries()) tests.set(`${test.title} (${index})`, test);
  } catch (error) {
    if (!existsSync(SURVEY)) report({ skipped: `${file} (${String(error)})` });
  }
}

/** Runs each test without a mutant. */
async function survey(): Promise<SurveyedTest[]> {
  const surveyed: SurveyedTest[] = [];
  for (const [name, test] of tests) {
    const started = performance.now();
    stryker.currentTestId = name;
    const failure = await failureOf(test, 120_000);
    stryker.currentTestId = undefined;
    const hits = Object.entries(stryker.mutantCoverage?.perTest[name] ?? {}).filter(([id]) => ids.includes(id));
    if (failure) report({ skipped: `${name} (${failure.message})` });
    else report({});
    if (!failure) surveyed.push({ name, ms: performance.now() - started, reached: Object.fromEntries(hits) });
  }
  return surveyed.sort((a, b) => a.ms - b.ms);
}

/** Returns the first test that notices; fast ones are tried first. */
async function whoNotices(id: string, reaching: SurveyedTest[]): Promise<string | undefined> {
  for (const { name, ms, reached } of reaching) {
    const test = tests.get(name);
    if (!test) continue;
    const timeout = 5_000 + 5 * ms;
    // Shows that the process isn't stuck: a survivor needs the time of all tests that reach it.
    report({ trying: id });
    // Ends loops that would run forever.
    Object.assign(stryker, { activeMutant: id, hitCount: 0, hitLimit: (reached[id] ?? 0) * 100 + 10_000 });
    const failure = await failureOf(test, timeout);
    Object.assign(stryker, { activeMutant: undefined, hitCount: undefined });
    if (!failure) continue;
    if (failure.isTimeout) report({ tried: id, by: name });
    // The test is still running, or something has stayed from this mutant or an earlier one.
    if (failure.isTimeout || (await failureOf(test, timeout))) process.exit();
    return name;
  }
  return undefined;
}

if (!existsSync(SURVEY)) writeFileSync(SURVEY, JSON.stringify(await survey()));
const surveyed = JSON.parse(readFileSync(SURVEY, 'utf8')) as SurveyedTest[];
for (const id of ids) {
  report({ trying: id });
  const reaching = surveyed.filter(({ reached }) => reached[id]);
  const isReached = reaching.length > 0;
  const isTooLate = !isReached && Boolean(stryker.mutantCoverage?.static[id]);
  report({ tried: id, by: await whoNotices(id, reaching), isReached, isTooLate });
}
process.exit();
