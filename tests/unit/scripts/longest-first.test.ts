import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { LONGEST, longestFirst } from '../../../scripts/test/longest-first.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { makeTemporaryDirectory } from '../../../scripts/testbed/temporary-directory.ts';

const checkout = path.join(import.meta.dirname, '../../..');

test('all test files that are listed as slow exist', async () => {
  const files = (await readdir(path.join(checkout, 'tests'), { recursive: true })).map((file) => `tests/${file}`);
  const first = longestFirst(files, checkout).filter((file) => path.isAbsolute(file));
  assert.deepEqual(first.map((file) => path.relative(checkout, file)).sort(), [...LONGEST].sort());
});

test('the slowest test files start first', async (t) => {
  const directory = await makeTemporaryDirectory('longest-first-');
  t.after(() => directory.remove());
  const files = ['tests/chart/alerts.test.ts', 'tests/chart/upgrade.test.ts', 'tests/unit/zeal.test.ts'];
  for (const file of files) {
    await mkdir(path.dirname(path.join(directory.path, file)), { recursive: true });
    await writeFile(path.join(directory.path, file), `require('node:test').test('${path.basename(file)}', () => {});`);
  }
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['--test', '--test-concurrency=1', '--test-reporter=tap', ...longestFirst(files, directory.path)];
  const output = await runCommand(process.execPath, args, { cwd: directory.path, env });
  const order = [...output.matchAll(/^ok \d+ - (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(order, ['upgrade', 'alerts', 'zeal']);
});
