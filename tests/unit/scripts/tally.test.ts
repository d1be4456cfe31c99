import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import {
  describeTallies,
  overBudget,
  SLOW,
  type Tally,
  tallyOfFailure,
  tallyOfSkip,
} from '../../../scripts/test/tally.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const reporter = path.join(import.meta.dirname, '../../../scripts/test/reporter.ts');

const sample = `
import { suite, test } from 'node:test';
test('passes', () => {});
test('fails', () => { throw new Error('on purpose'); });
test('is skipped', { skip: 'there is no moon' }, () => {});
test('is slow', { skip: '${SLOW}' }, () => {});
suite('is skipped as a whole', { skip: 'there is no sun' }, () => { test('one', () => {}); test('two', () => {}); });
suite('holds', () => { test('one that fails', () => { throw new Error('on purpose'); }); });
`;

test('the test summary lists skipped and failed tests once, with their reasons', async (t) => {
  const directory = await temporaryDirectory(t, 'tally-');
  await writeFile(path.join(directory, 'sample.test.mjs'), sample);
  const tally = path.join(directory, 'tally.json');
  const args = ['--test', `--test-reporter=${reporter}`, 'sample.test.mjs'];
  const env = { PATH: process.env.PATH, TEST_TALLY: tally };
  await assert.rejects(runCommand(process.execPath, args, { cwd: directory, env }));
  const { default: counted }: { default: Omit<Tally, 'uses'> } = await import(tally, { with: { type: 'json' } });
  const lines = [
    'Skipped:',
    '  sample.test.mjs: is skipped: there is no moon',
    '  sample.test.mjs: is skipped as a whole: there is no sun (the whole suite)',
    '  tests/gitea: all tests: gitea is missing. Install Go.',
    '',
    'Failed:',
    '  sample.test.mjs: fails: on purpose',
    '  sample.test.mjs: one that fails: on purpose',
    '  tests/chart: could not run: helm is missing',
    '    Install Go.',
    '',
    `1 tests run ${SLOW}, as do those in *.full.test.ts.`,
    '',
    '1 passed, 3 failed, 3 skipped',
  ];
  const failure = tallyOfFailure('tests/chart', new Error('helm is missing\nInstall Go.'));
  const skip = tallyOfSkip('gitea', new Error('gitea is missing.\nInstall Go.'));
  assert.equal(describeTallies([{ ...counted, uses: [] }, failure, skip]), lines.join('\n'));
});

test('a process that uses a large part of all CPU time is over its budget, however fast the machine is', () => {
  const uses = [33, ...Array<number>(20).fill(15)].map((seconds, index) => ({ files: [`${index}.test.ts`], seconds }));
  assert.equal(overBudget(uses).length, 1);
  assert.equal(overBudget([...uses, { files: ['chart.test.ts'], seconds: 29 }, ...uses]).length, 0);
  const few = uses.slice(0, 2).map(({ files }) => ({ files, seconds: 29 }));
  assert.equal(overBudget(few).length, 0);
});
