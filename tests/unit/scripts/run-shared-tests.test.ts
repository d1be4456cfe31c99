import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { runNodeTests, runSharedTests } from '../../../scripts/test/run-node-tests.ts';
import { makeTemporaryDirectory } from '../../../scripts/testbed/temporary-directory.ts';

const passing = "require('node:test').test('passes', () => {});";
const failing = "require('node:test').test('fails', () => { throw new Error('on purpose'); });";

for (const status of [0, 3]) {
  test(`a process that exits early with status ${status} fails its own test files, and no others`, async (t) => {
    const directory = await makeTemporaryDirectory('shared-');
    t.after(() => directory.remove());
    const add = async (name: string, text: string) => {
      const file = path.join(directory.path, name);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, text);
      return file;
    };
    const wellBehaved = [await add('a/1.test.cjs', passing), await add('a/2.test.cjs', failing)];
    const ending = `require('node:test').test('ends', () => process.exit(${status}));`;
    const ended = [await add('b/1.test.cjs', failing), await add('b/2.test.cjs', ending)];
    // Removes the variable that the runner of this test sets.
    const env = { NODE_TEST_CONTEXT: undefined };
    const options = { group: 'unit', flags: [], env, concurrency: 2, print: () => {} };
    const { passed, failed, skipped } = await runSharedTests([...wellBehaved, ...ended], options);
    assert.deepEqual({ passed, skipped }, { passed: 1, skipped: [] });
    assert.deepEqual(
      failed.map(({ name, error }) => ({ name, error })),
      [
        { name: 'fails', error: 'on purpose' },
        { name: 'could not run', error: `the test runner ended with status ${status}, before its tests did` },
      ],
    );
    for (const file of ended) assert.ok(failed[1]?.file.includes(file));
  });
}

const silent = { group: 'unit', flags: [], env: { NODE_TEST_CONTEXT: undefined }, concurrency: 1, silenceMs: 10_000 };

test('a test file that a timer keeps running is ended, and keeps its results', async (t) => {
  const directory = await makeTemporaryDirectory('left-');
  t.after(() => directory.remove());
  const file = path.join(directory.path, 'left.test.cjs');
  await writeFile(file, `${passing} setInterval(() => {}, 1_000);`);
  const env = { ...silent.env, TEST_END_MS: '500' };
  const { passed, failed } = await runNodeTests([file], { ...silent, env, silenceMs: 60_000, print: () => {} });
  assert.equal(passed, 1);
  assert.deepEqual(failed, [{ file: path.relative('', file), name: file, error: 'test failed' }]);
});

test('a test file that neither ends nor prints is named, and killed with the programs that it left', async (t) => {
  const directory = await makeTemporaryDirectory('silent-');
  t.after(() => directory.remove());
  const file = path.join(directory.path, 'silent.test.cjs');
  await writeFile(
    file,
    `${passing} require('node:child_process').spawn('sleep', ['600'], { stdio: 'inherit' }).unref();`,
  );
  const { passed, failed } = await runNodeTests([file], { ...silent, print: () => {} });
  assert.equal(passed, 1);
  assert.deepEqual(failed, [{ file: path.relative('', file), name: file, error: 'did not end' }]);
});
