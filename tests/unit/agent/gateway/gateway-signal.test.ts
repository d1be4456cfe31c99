import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { Gateway } from '../../../../agent/gateway/gateway.ts';
import { GatewayClient } from '../../../../agent/gateway/gateway-client.ts';
import { reloadSettings } from '../../../../agent/resource/judge-resource.ts';
import { startFakeIgnition } from '../../../support/fake-ignition.ts';
import { intentOf } from '../../../support/intents.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { fakeProcesses } from '../support/fake-processes.ts';
import { ownFileIn } from '../support/own-file-in.ts';

const hangUp = { name: 'SIGHUP' as const, process: 'nginx' };
const settings = reloadSettings({ gateway: undefined });
const request = { method: 'POST' as const, path: '/reload', timeoutMs: 10_000 };
const intent = intentOf({ reload: { ...settings, signal: hangUp, touchFile: 'synced', requests: [request] } });

/** A gateway with one process, and the notifications in their order. */
async function prepare(t: TestContext) {
  const fake = await startFakeIgnition(t);
  const data = path.join(await temporaryDirectory(t, 'signal-'), 'data');
  await mkdir(data);
  const pending = await ownFileIn(data, 'reload-pending');
  const processes = fakeProcesses([[7, { comm: 'nginx' }]]);
  const touched: string[] = [];
  const events = () => [...touched, ...processes.signals, ...fake.calls.map(({ line }) => line)];
  const atSignal: string[][] = [];
  const start = () =>
    new Gateway({
      client: new GatewayClient({ port: fake.port, tls: false, apiKeyFile: undefined }),
      pending,
      delivered: async () => [],
      log: pino({ level: 'silent' }),
      headersDirectory: undefined,
      touch: (file) => touched.push(file),
      valuesOf: async () => new Map(),
      processes: {
        ...processes,
        kill: (pid, name) => {
          atSignal.push(events());
          processes.kill(pid, name);
        },
      },
    });
  return { fake, processes, atSignal, start };
}

suite('the signal of a reload', () => {
  test('comes after the touch file and the ready path, and before the requests', async (t) => {
    const { fake, processes, atSignal, start } = await prepare(t);
    const gateway = start();
    const ready = { ...intent, reload: { ...intent.reload, readyPath: '/ready' } };
    await gateway.beforeChange(ready, []);
    fake.faults['/ready'] = { status: 503 };
    await assert.rejects(gateway.catchUp(ready), { code: 'gateway.notReady' });
    assert.deepEqual(processes.signals, []);
    fake.faults = {};
    fake.calls.length = 0;
    assert.equal(await gateway.catchUp(ready), true);
    assert.deepEqual(atSignal, [['synced', 'synced', 'GET /ready']]);
    const lines = fake.calls.map(({ line }) => line);
    assert.deepEqual(lines, ['GET /ready', 'POST /reload']);
    assert.equal(await gateway.catchUp(ready), false);
    assert.deepEqual(processes.signals, ['7 SIGHUP']);
  });

  test('is a notification by itself', async (t) => {
    const { processes, start } = await prepare(t);
    const gateway = start();
    const alone = { ...intent, reload: { ...settings, signal: hangUp } };
    await gateway.beforeChange(alone, []);
    assert.equal(await gateway.catchUp(alone), true);
    assert.deepEqual(processes.signals, ['7 SIGHUP']);
  });

  test('is sent once for a change, even if a request fails, and again after a restart of the agent', async (t) => {
    const { fake, processes, start } = await prepare(t);
    fake.faults['/reload'] = { status: 500 };
    const gateway = start();
    await gateway.beforeChange(intent, []);
    for (const _ of [1, 2]) await assert.rejects(gateway.catchUp(intent), { code: 'gateway.refused' });
    assert.deepEqual(processes.signals, ['7 SIGHUP']);
    await gateway.beforeChange(intent, []);
    await assert.rejects(gateway.catchUp(intent), { code: 'gateway.refused' });
    assert.equal(processes.signals.length, 2);
    const other = { ...intent, reload: { ...intent.reload, signal: { ...hangUp, name: 'SIGUSR1' as const } } };
    await assert.rejects(gateway.catchUp(other), { code: 'gateway.refused' });
    assert.equal(processes.signals.at(-1), '7 SIGUSR1');
    fake.faults = {};
    assert.equal(await start().catchUp(intent), true);
    assert.deepEqual(processes.signals.slice(3), ['7 SIGHUP']);
  });

  test('is not needed by a process that starts after the change, but the requests wait for it', async (t) => {
    const { fake, processes, start } = await prepare(t);
    processes.processes.clear();
    const gateway = start();
    await gateway.beforeChange(intent, []);
    await assert.rejects(gateway.catchUp(intent), { name: 'WaitingError', code: 'gateway.noProcess' });
    await assert.rejects(gateway.catchUp(intent), { code: 'gateway.noProcess' });
    assert.deepEqual(fake.calls, []);
    processes.processes.set(9, { comm: 'nginx', catches: [] });
    assert.equal(await gateway.catchUp(intent), true);
    assert.deepEqual([processes.signals, fake.calls.length], [[], 1]);
  });

  for (const [what, later, isNeeded] of [
    ['executes the program only after the change', { pid: 7, startTicks: 10 }, true],
    ['started after the first check', { pid: 9, startTicks: 20 }, false],
  ] as const) {
    test(`is ${isNeeded ? '' : 'not '}needed by a process that ${what}`, async (t) => {
      const { processes, start } = await prepare(t);
      processes.processes.set(7, { comm: 'sh', startTicks: 10 });
      const gateway = start();
      await gateway.beforeChange(intent, []);
      await assert.rejects(gateway.catchUp(intent), { code: 'gateway.noProcess' });
      processes.processes.set(9, { comm: 'sh', startTicks: 20 });
      await assert.rejects(gateway.catchUp(intent), { code: 'gateway.noProcess' });
      processes.processes.set(later.pid, { comm: 'nginx', startTicks: later.startTicks });
      assert.equal(await gateway.catchUp(intent), true);
      assert.deepEqual(processes.signals, isNeeded ? ['7 SIGHUP'] : []);
    });
  }

  test('is needed by a process that started before the last change, or may have', async (t) => {
    const { processes, start } = await prepare(t);
    const running = { comm: 'nginx' };
    const gateway = start();
    const absences: [code: string, begin: () => void][] = [
      ['gateway.noProcess', () => processes.processes.clear()],
      ['gateway.hidden', () => processes.processes.set(7, { ...running, faults: { stat: 'EACCES' } })],
      ['gateway.ended', () => processes.processes.set(7, { ...running, faults: { kill: 'ESRCH' } })],
      ['gateway.starting', () => processes.processes.set(7, { ...running, catches: [] })],
    ];
    for (const [code, begin] of absences) {
      await gateway.beforeChange(intent, []);
      begin();
      await assert.rejects(gateway.catchUp(intent), { code });
      if (code === 'gateway.noProcess') await gateway.beforeChange(intent, []);
      processes.processes.set(7, running);
      assert.equal(await gateway.catchUp(intent), true, code);
    }
    assert.deepEqual(processes.signals, Array(4).fill('7 SIGHUP'));
  });
});
