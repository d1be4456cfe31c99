import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { cleanUp } from '../../support/clean-up.ts';
import { isGone } from '../../support/is-gone.ts';
import { type Program, startProgram } from '../../support/program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

async function bundle(t: TestContext, code: string): Promise<string> {
  const directory = await temporaryDirectory(t, 'program-');
  const file = path.join(directory, 'program.mjs');
  await writeFile(file, code);
  return file;
}

test('a test program is killed when its test is over', async (t) => {
  const file = await bundle(t, `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);`);
  let program: Program | undefined;
  await t.test('in a test', (t) => {
    program = startProgram(t, file, { env: {} });
  });
  assert.deepEqual(await program?.exited, { code: null, signal: 'SIGKILL' });
});

test('a test cleans up in reverse order, and completely even if a step fails', async () => {
  const hooks: (() => unknown)[] = [];
  const scope = { after: (hook: () => unknown) => void hooks.push(hook) };
  const done: string[] = [];
  cleanUp(scope, () => done.push('first'));
  cleanUp(scope, () => Promise.reject(new Error('on purpose')));
  cleanUp(scope, () => done.push('last'));
  assert.equal(hooks.length, 1);
  await assert.rejects(async () => await hooks[0]?.(), /on purpose/);
  assert.deepEqual(done, ['last', 'first']);
});

test('a test program ends when its owner gets SIGKILL', async (t) => {
  const file = await bundle(t, 'setInterval(() => {}, 1000);');
  const module = path.join(import.meta.dirname, '../../../scripts/testbed/guarded-process.ts');
  const code = `const { startGuarded } = await import(${JSON.stringify(module)});
    console.log(startGuarded(process.execPath, [${JSON.stringify(file)}], { output: 'pipe' }).pid);
    setInterval(() => {}, 1000);`;
  const owner = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [pid] = await once(owner.stdout.setEncoding('utf8'), 'data');
  owner.kill('SIGKILL');
  assert.ok(await isGone(Number(pid)));
});

test("a condition that doesn't come true reports the last observation", async () => {
  let count = 0;
  const waiting = until(() => ({ count: ++count }), {
    describe: 'many',
    timeout: 100,
    accept: (seen) => seen.count > 1e6,
  });
  await assert.rejects(waiting, /many: not within 100 ms\. Last seen:\n\{ count: \d+ \}/);
  const failing = until(() => Promise.reject(new Error('not there')), { describe: 'it', timeout: 0 });
  await assert.rejects(failing, /it: not within 0 ms\. Last seen:\nError: not there/);
});
