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
const PROGRAM = /^(agent|controller|receiver|cli|shared)\/.*\.ts$/;
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
  const [subject = '', ...names] = (await git('show', '--format=%s', '--name-only', commit))
    .split('\n')
    .filter(Boolean);
  const programs = names.filter((name) => PROGRAM.test(name));
  const changed = names.filter((name) => /^tests\/.*\.test\.ts$/.test(name));
  if (programs.length === 0 || changed.length === 0) return undefined;
  const patch = await git('show', '--format=', '--no-renames', commit, '--', ...programs);
  const lines = patch.split('\n').filter((line) => /^[-+](?![-+])/.test(line)).length;
  if (lines > MAX_LINES) return undefined;
  const all = changed.flatMap((file) => [file, file.replace(/\.test\.ts$/, '.full.test.ts')]);
  const tests = (await git('ls-files', ...all)).split('\n').filter(Boolean);
  return { commit, subject, patch, tests, reached: reachOf(programs) };
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
  const reset = () => run('git', ['reset', '--quiet', '--hard']);
  return {
    remove,
    reset,
    /** Returns whether the fix could be reverted, and the types are right without it. */
    revert: async (patch: string): Promise<boolean> => {
      await reset();
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
async function whoNotices({ tests, reached }: Fix, checkout: Checkout, depth: string): Promise<string | undefined> {
  const isRun = (name: string) => depth !== 'quick' || (USUAL.test(name) && !name.endsWith('.full.test.ts'));
  const others = reached.includes('all') ? ['unit', 'integration', 'chart'] : reached;
  for (const [who, names] of Object.entries({ 'its tests': tests, 'other tests': others })) {
    const run = names.filter(isRun);
    if (run.length === 0 || (await checkout.passes(depth, ...run))) continue;
    await checkout.reset();
    if (!(await checkout.passes(depth, ...run))) throw new Error(`these fail with the fix, too: ${run.join(' ')}`);
    return who;
  }
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
    if (!fix || !(await checkout.revert(fix.patch))) {
      if (positionals.length > 0) console.log(`- ${commit} is not a fix that can be reverted`);
      continue;
    }
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
