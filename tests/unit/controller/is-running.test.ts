import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { isRunning } from '../../../controller/own-directories.ts';

test('a process counts as running until it has ended, whichever user owns it', async () => {
  assert.equal(isRunning(process.pid), true);
  assert.equal(isRunning(1), true);
  const child = spawn(process.execPath, ['--eval', '']);
  await once(child, 'exit');
  assert.equal(isRunning(child.pid as number), false);
});

test("a process with an impossible ID doesn't count as running", () => {
  for (const id of [0, -1, 1.5, 2 ** 31, 2 ** 60, Number.NaN, Number.POSITIVE_INFINITY])
    assert.equal(isRunning(id), false, String(id));
});
