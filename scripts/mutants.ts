import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import { Slots } from '../shared/domain/slots.ts';
import { copyCheckout } from './test/copy-checkout.ts';
import type { Tally } from './test/tally.ts';
import { runCommand } from './testbed/run-command.ts';

// Changes programs in small ways, one at a time, and finds out which tests notice each change. `npm run mutation` tells only
// which files do. Run it before and after tests are deleted, with the same sample:
//   npm run mutants -- --mutate 'controller/intent/*.ts' --tests 'tests/unit/controller/intent/*.test.ts' --write before.json
//   npm run mutants -- … --compare before.json

const { values } = parseArgs({
  options: {
    mutate: { type: 'string' },
    tests: { type: 'string' },
    sample: { type: 'string', default: '160' },
    seed: { type: 'string', default: '1' },
    /** File for the results. */
    write: { type: 'string' },
    /** File with earlier results: changes that tests noticed then, and don't now, are an error. */
    compare: { type: 'string' },
  },
});
if (!values.mutate || !values.tests) {
  console.error(
    'usage: npm run mutants -- --mutate GLOB --tests GLOB [--sample N] [--seed N] [--write FILE] [--compare FILE]',
  );
  process.exit(2);
}

/** A change, and the tests that fail with it; `['timeout']` if they don't end. */
interface Result {
  change: string;
  by: string[];
}

const silent = { isTraceEnabled: () => false, isDebugEnabled: () => false };
const log = new Proxy(silent, { get: (target, name) => Reflect.get(target, name) ?? (() => {}) }) as never;

const { directory, remove } = await copyCheckout();

/** Puts all changes into the files, where an environment variable turns on one of them. */
async function instrument(glob: string) {
  const names = await filesOf(glob);
  const files = await Promise.all(
    names.map(async (name) => ({ name, content: await readFile(path.join(directory, name), 'utf8'), mutate: true })),
  );
  const options = { plugins: null, excludedMutations: ['StringLiteral'], ignorers: [] };
  const instrumented = await new Instrumenter(log).instrument(files, options);
  for (const { name, content } of instrumented.files) await writeFile(path.join(directory, name), content);
  return instrumented.mutants.map(({ id, fileName, location, mutatorName, replacement }) => ({
    id,
    change: `${fileName}:${location.start.line + 1}:${location.start.column + 1} ${mutatorName}: ${replacement}`,
  }));
}

const filesOf = async (glob: string) =>
  (await runCommand('git', ['ls-files', `:(glob)${glob}`], { cwd: directory })).trim().split('\n');

/** Runs the tests with a change, and returns the names of those that fail. */
async function failing(tests: string[], id: string, limitMs: number): Promise<string[]> {
  const tally = path.join(directory, `tally-${id}.json`);
  const args = [
    ...['--import', './scripts/test/slim-imports.ts', '--test', '--test-isolation=none', '--test-force-exit'],
    ...['--test-reporter=./scripts/test/tally-reporter.ts', `--test-reporter-destination=${tally}`],
    ...tests,
  ];
  const command = ['--kill-after=5', `${Math.ceil(limitMs / 1_000)}`, process.execPath, ...args];
  const env = { ...process.env, TEST_DEPTH: 'full', __STRYKER_ACTIVE_MUTANT__: id };
  await runCommand('timeout', command, { cwd: directory, env }).catch(() => {});
  const json = await readFile(tally, 'utf8').catch(() => '');
  if (json === '') return ['timeout'];
  return (JSON.parse(json) as Tally).failed.map(({ file, name }) => `${file}: ${name}`);
}

/** Sorts by a number that depends on the seed, so that two runs choose the same ones. */
function sampleOf<T extends { change: string }>(all: T[], count: number, seed: number): T[] {
  const rank = ({ change }: T) =>
    [...change].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 0x01000193), seed);
  return all.toSorted((a, b) => rank(a) - rank(b)).slice(0, count);
}

try {
  const tests = await filesOf(values.tests);
  const mutants = await instrument(values.mutate);
  const started = performance.now();
  const broken = await failing(tests, 'none', 600_000);
  if (broken.length > 0) throw new Error(`the tests fail without a change: ${broken.join('\n')}`);
  const limitMs = 10_000 + 4 * (performance.now() - started);
  const sample = sampleOf(mutants, Number(values.sample), Number(values.seed));
  const slots = new Slots(Math.max(2, availableParallelism()));
  const results: Result[] = await Promise.all(
    sample.map(({ id, change }) => slots.run(async () => ({ change, by: await failing(tests, id, limitMs) }))),
  );
  const survivors = results.filter(({ by }) => by.length === 0);
  for (const { change } of survivors) console.log(`not noticed: ${change}`);
  console.log(`${mutants.length} changes, ${sample.length} tried, ${sample.length - survivors.length} noticed`);
  if (values.write) await writeFile(values.write, JSON.stringify(results, null, 1));
  if (values.compare) {
    const earlier = JSON.parse(await readFile(values.compare, 'utf8')) as Result[];
    const noticed = new Set(earlier.filter(({ by }) => by.length > 0).map(({ change }) => change));
    const lost = survivors.filter(({ change }) => noticed.has(change));
    for (const { change } of lost) console.log(`noticed before: ${change}`);
    process.exitCode = lost.length > 0 ? 1 : 0;
  }
} finally {
  await remove();
}
