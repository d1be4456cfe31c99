import path from 'node:path';
import { parseArgs } from 'node:util';
import { copyCheckout } from './test/copy-checkout.ts';
import { reachOf } from './test/reach.ts';
import { type CommandOptions, runCommand } from './testbed/run-command.ts';

// Reverts the program's part of old fixes, one at a time, and runs the tests: do they notice? A fix counts if it changed
// programs and tests, if its change can still be reverted, and if the types are right without it.
//   npm run test:fixes -- --count 60             with the tests of npm test
//   npm run test:fixes -- --full 5b18344e …      these commits, with those of npm run test:all

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string', default: '10' },
    /** Number of commits to skip, newest first. */
    skip: { type: 'string', default: '0' },
    full: { type: 'boolean', default: false },
  },
});

const root = path.join(import.meta.dirname, '..');
const PROGRAMS = ['agent', 'controller', 'receiver', 'cli', 'shared'].map((name) => `:(glob)${name}/**/*.ts`);
/** More is seldom a fix. */
const MAX_LINES = 80;

interface Fix {
  commit: string;
  subject: string;
  /** The change of the programs. */
  patch: string;
  /** The tests that were changed with it, and still exist. */
  tests: string[];
  /** The tests that these programs can reach. */
  reached: string[];
}

const git = (...args: string[]) => runCommand('git', args, { cwd: root });

/** Returns the fix of a commit, or nothing if it isn't one by these rules. */
async function readFix(commit: string): Promise<Fix | undefined> {
  const patch = await git('show', '--format=', '--no-renames', commit, '--', ...PROGRAMS);
  const lines = patch.split('\n').filter((line) => /^[-+](?![-+])/.test(line)).length;
  const changed = (await git('show', '--format=', '--name-only', commit, '--', ':(glob)tests/**/*.test.ts')).trim();
  if (lines === 0 || lines > MAX_LINES || changed === '') return undefined;
  const full = (file: string) => [file, file.replace(/\.test\.ts$/, '.full.test.ts')];
  const tests = (await git('ls-files', ...changed.split('\n').flatMap(full))).split('\n').filter(Boolean);
  const programs = (await git('show', '--format=', '--name-only', commit, '--', ...PROGRAMS)).trim().split('\n');
  return {
    reached: reachOf(programs),
    commit,
    subject: (await git('show', '--no-patch', '--format=%s', commit)).trim(),
    patch,
    tests,
  };
}

/** Groups and directories of `npm test`. */
const USUAL = /^(tests\/)?(unit|integration|chart)\b/;

/** A copy of the checkout in which a fix can be reverted. */
async function makeCheckout() {
  const { directory: cwd, remove } = await copyCheckout();
  const run = (command: string, args: string[], options: CommandOptions = {}) =>
    runCommand(command, args, { cwd, ...options }).then(
      () => true,
      () => false,
    );
  return {
    remove,
    /** Returns whether the fix could be reverted, and the types are right without it. */
    revert: async (patch: string): Promise<boolean> => {
      await run('git', ['reset', '--quiet', '--hard']);
      if (!(await run('git', ['apply', '--reverse', '--3way', '-'], { input: patch }))) return false;
      return await run('node_modules/.bin/tsc', ['--noEmit', '--project', '.']);
    },
    passes: (depth: string, ...tests: string[]) =>
      run(process.execPath, ['scripts/test.ts', ...tests], {
        env: { ...process.env, TEST_DEPTH: depth, BUNDLES_MADE_IN: '' },
      }),
  };
}

type Checkout = Awaited<ReturnType<typeof makeCheckout>>;

/** Returns the first tests that notice: those of the fix, or any. */
async function whoNotices({ tests, reached }: Fix, { passes }: Checkout, depth: string): Promise<string | undefined> {
  const own = depth === 'quick' ? tests.filter((file) => !file.endsWith('.full.test.ts')) : tests;
  if (own.length > 0 && !(await passes(depth, ...own))) return 'its tests';
  const others = reached.includes('all') ? ['unit', 'integration', 'chart'] : reached;
  if (!(await passes(depth, ...(depth === 'quick' ? others.filter((name) => USUAL.test(name)) : others))))
    return 'other tests';
  return undefined;
}

const commits =
  positionals.length > 0 ? positionals : (await git('rev-list', '--no-merges', 'HEAD')).trim().split('\n');
const depth = values.full ? 'full' : 'quick';
const checkout = await makeCheckout();
const counts = { noticed: 0, unnoticed: 0 };
try {
  for (const commit of commits.slice(Number(values.skip))) {
    const fix = await readFix(commit);
    if (!fix || !(await checkout.revert(fix.patch))) continue;
    const who = await whoNotices(fix, checkout, depth);
    counts[who ? 'noticed' : 'unnoticed'] += 1;
    console.log(`${who ? '✔' : '✖'} ${commit.slice(0, 8)} ${fix.subject} (${who ?? 'no test notices'})`);
    if (counts.noticed + counts.unnoticed === Number(values.count)) break;
  }
} finally {
  await checkout.remove();
}
console.log(`${counts.noticed} noticed, ${counts.unnoticed} not`);
process.exitCode = counts.unnoticed === 0 ? 0 : 1;
