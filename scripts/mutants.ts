import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { parseArgs } from 'node:util';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import type { Progress } from './mutants/try-mutants.ts';
import { copyCheckout } from './test/copy-checkout.ts';
import { useMemoryDirectory } from './test/memory-directory.ts';
import { reachOf } from './test/reach.ts';
import { startGuarded } from './testbed/guarded-process.ts';
import { runCommand } from './testbed/run-command.ts';

// Changes modules of the last commit in small ways, one at a time, and tells which changes no unit test notices.
//   npm run mutants -- controller/intent agent/volume
//   npm run mutants -- … --before main~3       what did the tests of this commit notice that those of HEAD don't?

const { values, positionals: programs } = parseArgs({
  allowPositionals: true,
  options: {
    /** Files or directories. If omitted, all unit tests that the programs can reach. */
    tests: { type: 'string', multiple: true },
    /** Maximum number of changes to each module. */
    sample: { type: 'string', default: '160' },
    seed: { type: 'string', default: '1' },
    /** TEST_DEPTH, by default that of `npm test`. */
    depth: { type: 'string', default: 'quick' },
    /** Commit with earlier tests: it is an error if they notice a change that the present ones don't. */
    before: { type: 'string' },
  },
});
if (programs.length === 0) {
  console.error('usage: npm run mutants -- PATH… [--tests PATH]… [--sample N] [--depth quick|full] [--before COMMIT]');
  process.exit(2);
}
/** The share of changes that have to be noticed. */
const ENOUGH = 0.8;
/** Milliseconds without progress after which a process is ended. */
const SILENCE_MS = 300_000;
/** Most strings are words for people. */
const STRINGS = 'StringLiteral';

type Mutant = Record<'id' | 'change', string>;

const silent = { isTraceEnabled: () => false, isDebugEnabled: () => false };
const log = new Proxy(silent, { get: (target, name) => Reflect.get(target, name) ?? (() => {}) }) as never;

useMemoryDirectory(process.env);
const { directory: cwd, remove } = await copyCheckout();
const git = (...args: string[]) => runCommand('git', args, { cwd });
const filesOf = async (paths: string[]) =>
  (await git('ls-files', ...paths)).split('\n').filter((name) => name.endsWith('.ts'));

/** Puts all mutants into the programs of the copy, each turned on by a variable. */
async function instrument(): Promise<Mutant[]> {
  const contents = (await filesOf(programs)).map(async (name) => {
    return { name, content: await readFile(path.join(cwd, name), 'utf8'), mutate: true };
  });
  const options = { plugins: null, excludedMutations: [STRINGS], ignorers: [] };
  const { files, mutants } = await new Instrumenter(log).instrument(await Promise.all(contents), options);
  for (const { name, content } of files) await writeFile(path.join(cwd, name), content);
  const others = mutants.filter(({ mutatorName }) => mutatorName !== STRINGS);
  return others.map(({ id, fileName, location: { start }, mutatorName, replacement }) => {
    const place = `${fileName}:${start.line + 1}:${start.column + 1}`;
    return { id, change: `${place} ${mutatorName}: ${replacement.replaceAll(/\s+/g, ' ')}` };
  });
}

const ofProgram = (program: string, mutants: Mutant[]) => mutants.filter(({ change }) => change.startsWith(program));

/** Sorts by a number that depends on the seed, so that two runs choose the same ones. */
function sampleOf(mutants: Mutant[]): Mutant[] {
  const rank = ({ change }: Mutant) =>
    [...change].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 0x01000193), Number(values.seed));
  return mutants.toSorted((a, b) => rank(a) - rank(b)).slice(0, Number(values.sample));
}

/** Tries mutants with the tests of the copy, and reports who notices each. */
async function tryAll(mutants: Mutant[], onTried: (mutant: Mutant, by?: string) => void): Promise<void> {
  const reached = reachOf(programs).map((name) => (name === 'all' ? 'tests/unit' : name));
  const all = await filesOf(values.tests ?? reached.filter((name) => name.startsWith('tests/unit')));
  const isRun = values.depth === 'quick' ? /(?<!\.full)\.test\.ts$/ : /\.test\.ts$/;
  const files = all.filter((name) => isRun.test(name));
  const rest = new Map(mutants.map((mutant) => [mutant.id, mutant]));
  const ended = new Set<string>();
  const survived = new Set<string>();
  const onProgress = ({ tried = '', by, isReached, isTooLate, skipped }: Progress) => {
    // A module may remember what it computed before, so a survivor is tried again in a new process.
    if (isReached && !by && !survived.has(tried)) return void survived.add(tried);
    if (skipped) console.log(`skipped, because it fails without a change: ${skipped}`);
    const mutant = rest.get(tried);
    if (mutant && !isTooLate) onTried(mutant, by);
    rest.delete(tried);
  };
  while (rest.size > 0) {
    const untried = [...rest.keys()].filter((id) => !survived.has(id));
    const ids = untried.length > 0 ? untried : [...rest.keys()].slice(0, 1);
    await writeFile(path.join(cwd, 'job.json'), JSON.stringify({ files, ids }));
    const last = await work(onProgress);
    // A mutant that ends the process is tried again, because an earlier one may have left something behind.
    if (last?.trying && ended.has(last.trying)) onProgress({ tried: last.trying, by: 'the end of the process' });
    else if (last?.trying) ended.add(last.trying);
    else if (!last?.tried) throw new Error(`the process ended after ${JSON.stringify(last)}`);
  }
}

/** Works in a process until it ends, and returns its last step. */
async function work(onProgress: (progress: Progress) => void): Promise<Progress | undefined> {
  const args = ['--test-reporter=dot', '--test-reporter-destination=/dev/null', 'scripts/mutants/try-mutants.ts'];
  const env = { TEST_SEED: '1', ...process.env, TEST_DEPTH: values.depth };
  const { child, killAll } = startGuarded(process.execPath, args, { cwd, env, output: 'pipe' });
  child.ref();
  child.stderr?.resume();
  const timer = setTimeout(killAll, SILENCE_MS);
  let last: Progress | undefined;
  for await (const line of createInterface({ input: child.stdout as Readable })) {
    // Programs print as well.
    if (!line.startsWith('progress ')) continue;
    timer.refresh();
    last = JSON.parse(line.slice('progress '.length)) as Progress;
    onProgress(last);
  }
  clearTimeout(timer);
  await killAll();
  return last;
}

try {
  const all = await instrument();
  const sample = programs.flatMap((program) => sampleOf(ofProgram(program, all)));
  const noticed: Mutant[] = [];
  const survivors: Mutant[] = [];
  await tryAll(sample, (mutant, by) => {
    (by ? noticed : survivors).push(mutant);
    if (!by) console.log(`not noticed: ${mutant.change}`);
  });
  for (const program of programs) {
    const [changes, killed, left] = [all, noticed, survivors].map((mutants) => ofProgram(program, mutants).length);
    console.log(`${program}: ${changes} changes, ${killed} noticed, ${left} not`);
  }
  let isWorse = noticed.length < ENOUGH * (noticed.length + survivors.length);
  if (values.before) {
    await git('rm', '-r', '--quiet', 'tests');
    await git('checkout', '--quiet', values.before, '--', 'tests');
    await rm(path.join(cwd, 'survey.json'));
    isWorse = false;
    await tryAll(survivors, ({ change }, by) => {
      if (by) console.log(`noticed before, by ${by}: ${change}`);
      isWorse ||= Boolean(by);
    });
    if (!isWorse) console.log(`the tests of ${values.before} noticed none of them`);
  }
  process.exitCode = isWorse ? 1 : 0;
} finally {
  await remove();
}
