import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import { Slots } from '../shared/domain/limits/slots.ts';
import { copyCheckout } from './test/copy-checkout.ts';
import { startGuarded } from './testbed/guarded-process.ts';
import { runCommand } from './testbed/run-command.ts';

// Changes the programs of the last commit in small ways, one at a time, and tells which changes no test notices. Unlike
// `npm run mutation`, it can compare with the tests of another commit.
//   npm run mutants -- --mutate 'controller/intent/*.ts' --tests 'tests/unit/controller/intent/*.test.ts'
//   npm run mutants -- … --before main~3       what did the tests of this commit notice that those of HEAD don't?

const { values } = parseArgs({
  options: {
    mutate: { type: 'string' },
    tests: { type: 'string' },
    sample: { type: 'string', default: '160' },
    seed: { type: 'string', default: '1' },
    /** TEST_DEPTH, by default that of `npm test`. */
    depth: { type: 'string', default: 'quick' },
    /** Commit with earlier tests: it is an error if they notice a change that the present ones don't. */
    before: { type: 'string' },
  },
});
if (!values.mutate || !values.tests) {
  console.error(
    'usage: npm run mutants -- --mutate GLOB --tests GLOB [--sample N] [--depth quick|full] [--before COMMIT]',
  );
  process.exit(2);
}

const silent = { isTraceEnabled: () => false, isDebugEnabled: () => false };
const log = new Proxy(silent, { get: (target, name) => Reflect.get(target, name) ?? (() => {}) }) as never;

const scripts = path.join(import.meta.dirname, 'test');
const runOptions = [
  ...['--import', path.join(scripts, 'slim-imports.ts')],
  ...['--test', '--test-isolation=none', '--test-force-exit'],
];

interface Change {
  id: string;
  change: string;
}

/** The programs of a commit with all changes, of which an environment variable turns on one, and tests. */
class Sandbox {
  readonly #directory: string;
  /** Test files, fast ones first, with what each needs to notice anything. */
  readonly #files: { file: string; ms: number; reached: Set<string> }[] = [];

  constructor(directory: string) {
    this.#directory = directory;
  }

  async instrument(glob: string): Promise<Change[]> {
    const names = await this.#filesOf(glob);
    const files = await Promise.all(
      names.map(async (name) => ({ name, content: await readFile(this.#at(name), 'utf8'), mutate: true })),
    );
    const options = { plugins: null, excludedMutations: [], ignorers: [] };
    const instrumented = await new Instrumenter(log).instrument(files, options);
    for (const { name, content } of instrumented.files) await writeFile(this.#at(name), content);
    // Most strings are words for people.
    const changes = instrumented.mutants.filter(({ mutatorName }) => mutatorName !== 'StringLiteral');
    return changes.map(({ id, fileName, location, mutatorName, replacement }) => ({
      id,
      change: `${fileName}:${location.start.line + 1}:${location.start.column + 1} ${mutatorName}: ${replacement}`,
    }));
  }

  /** Replaces the tests with those of a commit. */
  async takeTestsOf(commit: string): Promise<void> {
    const options = { cwd: this.#directory };
    await runCommand('git', ['rm', '-r', '--quiet', 'tests'], options);
    await runCommand('git', ['checkout', '--quiet', commit, '--', 'tests'], options);
  }

  /** Runs each test file without a change, to find out which changes it reaches. */
  async survey(glob: string): Promise<void> {
    const all = await this.#filesOf(glob);
    const files = values.depth === 'quick' ? all.filter((file) => !file.endsWith('.full.test.ts')) : all;
    await inParallel(files, async (file) => {
      const started = performance.now();
      const reached = this.#at(`reached-${files.indexOf(file)}.json`);
      const options = ['--import', path.join(scripts, 'write-reached.ts')];
      const status = await this.#run([file], { REACHED: reached }, options);
      if (status !== 0) throw new Error(`${file} fails without a change`);
      const ids = JSON.parse(await readFile(reached, 'utf8')) as string[];
      this.#files.push({ file, ms: performance.now() - started, reached: new Set(ids) });
    });
    this.#files.sort((a, b) => a.ms - b.ms);
  }

  /** Returns whether a test notices the change; a test that doesn't end does. */
  async notices(id: string): Promise<boolean> {
    const reaching = this.#files.filter(({ reached }) => reached.has(id));
    if (reaching.length === 0) return false;
    const limitMs = reaching.reduce((sum, { ms }) => sum + 3 * ms, 10_000);
    const files = reaching.map(({ file }) => file);
    const options = [`--test-reporter=${path.join(scripts, 'first-failure-reporter.ts')}`];
    return (await this.#run(files, { __STRYKER_ACTIVE_MUTANT__: id }, options, limitMs)) !== 0;
  }

  /** Returns the exit status, or 1 if the tests didn't end in time. */
  async #run(files: string[], env: NodeJS.ProcessEnv, options: string[], limitMs = 600_000): Promise<number> {
    const { exited, killAll } = startGuarded(process.execPath, [...runOptions, ...options, ...files], {
      cwd: this.#directory,
      env: { ...process.env, TEST_DEPTH: values.depth, TEST_SEED: '1', ...env },
      output: { log: '/dev/null' },
    });
    const timer = setTimeout(killAll, limitMs);
    const { code } = await exited;
    clearTimeout(timer);
    return code ?? 1;
  }

  async #filesOf(glob: string): Promise<string[]> {
    const globs = glob.match(/\S+/g) ?? [];
    const args = ['ls-files', ...globs.map((part) => `:(glob)${part}`)];
    const files = (await runCommand('git', args, { cwd: this.#directory })).split('\n').filter(Boolean);
    if (files.length === 0) throw new Error(`no file of the last commit matches ${glob}`);
    return files;
  }

  #at(name: string): string {
    return path.join(this.#directory, name);
  }
}

const slots = new Slots(Math.max(2, availableParallelism()));

async function inParallel<T, R>(items: T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const runs = items.map((item) => slots.run(() => run(item)));
  // Until all have ended, their directory stays.
  await Promise.allSettled(runs);
  return await Promise.all(runs);
}

/** Sorts by a number that depends on the seed, so that two runs choose the same ones. */
function sampleOf(all: Change[], count: number, seed: number): Change[] {
  const rank = ({ change }: Change) =>
    [...change].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 0x01000193), seed);
  return all.toSorted((a, b) => rank(a) - rank(b)).slice(0, count);
}

const copies = [await copyCheckout(), ...(values.before ? [await copyCheckout()] : [])];
try {
  const [present, earlier] = copies.map(({ directory }) => new Sandbox(directory));
  if (!present) throw new Error('no copy');
  const changes = await present.instrument(values.mutate);
  await present.survey(values.tests);
  const sample = sampleOf(changes, Number(values.sample), Number(values.seed));
  const noticed = await inParallel(sample, ({ id }) => present.notices(id));
  const survivors = sample.filter((_, index) => !noticed[index]);
  for (const { change } of survivors) console.log(`not noticed: ${change}`);
  console.log(`${changes.length} changes, ${sample.length} tried, ${sample.length - survivors.length} noticed`);
  if (earlier && values.before) {
    await earlier.takeTestsOf(values.before);
    await earlier.instrument(values.mutate);
    await earlier.survey(values.tests);
    const before = await inParallel(survivors, ({ id }) => earlier.notices(id));
    const lost = survivors.filter((_, index) => before[index]);
    for (const { change } of lost) console.log(`noticed before: ${change}`);
    console.log(`${lost.length} of them were noticed by the tests of ${values.before}`);
    process.exitCode = lost.length > 0 ? 1 : 0;
  }
} finally {
  for (const { remove } of copies) await remove();
}
