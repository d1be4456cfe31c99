import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { cleanUp } from '../../support/clean-up.ts';
import { apply, connectCluster, createNamespace, kubectl } from '../../support/cluster.ts';
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

test('each test gets its own namespace of the shared control plane, with the CRDs', async (t) => {
  const namespace = await createNamespace(t, { 'sync.io/injection': 'enabled' });
  assert.notEqual(await createNamespace(t), namespace);
  await apply([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', namespace }, data: { a: 'b' } }]);
  assert.equal(await kubectl('get', 'configmap', 'one', '-n', namespace, '-o', 'jsonpath={.data.a}'), 'b');
  assert.equal(await kubectl('get', 'gatewaysyncs', '-n', namespace, '-o', 'name'), '');
  const kubeconfig = await (await connectCluster()).kubeconfigFor({ namespace, serviceAccount: 'default' });
  assert.match(await kubectl('auth', 'whoami', '--kubeconfig', kubeconfig), new RegExp(`${namespace}:default`));
});

test('a test program runs with its own environment only, and its output is read', async (t) => {
  const file = await bundle(
    t,
    `console.log(Object.keys(process.env).sort().join());
     process.on('SIGTERM', () => { console.error('ending'); process.exit(7); });
     setInterval(() => {}, 1000);
     console.log('ready on ' + 4711);`,
  );
  const program = startProgram(t, file, { env: { GREETING: 'hello' } });

  const [, port] = await program.waitForLog(/ready on (\d+)/);

  assert.equal(port, '4711');
  assert.match(program.output, /^GREETING,HOME,(NODE_COMPILE_CACHE,)?PATH(,|$)/m);
  assert.doesNotMatch(program.output, /NODE_TEST_CONTEXT/);
  assert.deepEqual(await program.stop(), { code: 7, signal: null });
  await program.waitForLog(/ending/);
});

test('a test program that exits early fails the wait at once, with its output', async (t) => {
  const program = startProgram(t, await bundle(t, `console.error('no configuration'); process.exit(1);`), { env: {} });
  await assert.rejects(program.waitForLog(/ready/), /ended before .*no configuration/s);
});

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
