import { parseArgs } from 'node:util';
import { copyCheckout } from './test/copy-checkout.ts';
import { reachOf } from './test/reach.ts';
import { runCommand, succeeds } from './testbed/run-command.ts';

// Reverts the program's part of old fixes, one at a time, and runs the tests: do they notice? A fix counts if it changed
// programs and tests, if its change can still be reverted, and if the types are right without it.
//   npm run test:fixes -- --count 60             with the tests of npm test
//   npm run test:fixes -- --full 5b18344e …      these commits, with those of npm run test:all

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string', default: '10' },
    full: { type: 'boolean', default: false },
  },
});

const PROGRAM = /^(agent|controller|receiver|cli|shared)\/.*\.ts$/;
/** More is seldom a fix. */
const MAX_LINES = 80;
/** Groups and directories of `npm test`. */
const USUAL = /^(tests\/)?(unit|integration|chart)\b/;
const depth = values.full ? 'full' : 'quick';

const { directory: cwd, remove } = await copyCheckout();
const git = (...args: string[]) => runCommand('git', args, { cwd });

/** Reverts the fix of a commit in the copy, and returns the tests to run; undefined if it isn't a fix by these rules. */
async function revert(commit: string): Promise<Record<'its tests' | 'other tests', string[]> | undefined> {
  const names = (await git('show', '--format=', '--name-only', commit)).split('\n');
  const programs = names.filter((name) => PROGRAM.test(name));
  const changed = names.filter((name) => /^tests\/.*\.test\.ts$/.test(name));
  if (programs.length === 0 || changed.length === 0) return undefined;
  const patch = await git('show', '--format=', '--no-renames', commit, '--', ...programs);
  const lines = patch.split('\n').filter((line) => /^[-+](?![-+])/.test(line)).length;
  if (lines > MAX_LINES) return undefined;
  if (!(await succeeds('git', ['apply', '--reverse', '--3way', '-'], { cwd, input: patch }))) return undefined;
  if (!(await succeeds('node_modules/.bin/tsc', ['--noEmit', '--project', '.'], { cwd }))) return undefined;
  const own = await git('ls-files', ...changed.flatMap((file) => [file, file.replace(/\.test\.ts$/, '.full.test.ts')]));
  const reached = reachOf(programs);
  const others = reached.includes('all') ? ['tests/unit', 'tests/integration', 'tests/chart'] : reached;
  return { 'its tests': own.split('\n').filter(Boolean), 'other tests': others };
}

/** Returns the first tests that notice: those of the fix, or any. */
async function whoNotices(tests: Record<string, string[]>): Promise<string | undefined> {
  for (const [who, names] of Object.entries(tests)) {
    const usual = names.filter((name) => values.full || (USUAL.test(name) && !name.endsWith('.full.test.ts')));
    const run = ['scripts/test.ts', ...usual];
    // Unit tests need bundles, but not those with the change.
    const BUNDLES_MADE_IN = usual.every((name) => name.startsWith('tests/unit')) ? cwd : '';
    const env = { ...process.env, TEST_DEPTH: depth, BUNDLES_MADE_IN };
    if (run.length === 1 || (await succeeds(process.execPath, run, { cwd, env }))) continue;
    await git('reset', '--quiet', '--hard');
    if (await succeeds(process.execPath, run, { cwd, env })) return who;
    console.log(`these fail with the fix as well: ${run.slice(1).join(' ')}`);
    return undefined;
  }
  return undefined;
}

let unnoticed = 0;
try {
  await runCommand(process.execPath, ['scripts/build.ts'], { cwd });
  const commits = positionals.length > 0 ? positionals : (await git('rev-list', '--no-merges', 'HEAD')).match(/\S+/g);
  let left = Number(values.count);
  for (const commit of commits ?? []) {
    await git('reset', '--quiet', '--hard');
    const tests = await revert(commit);
    if (!tests) continue;
    const who = await whoNotices(tests);
    if (!who) unnoticed += 1;
    const subject = await git('show', '--no-patch', '--format=%h %s', commit);
    console.log(`${who ? '✔' : '✖'} ${subject.trim()} (${who ?? 'no test notices'})`);
    left -= 1;
    if (left === 0) break;
  }
} finally {
  await remove();
}
console.log(`${unnoticed} not noticed`);
process.exitCode = unnoticed === 0 ? 0 : 1;
