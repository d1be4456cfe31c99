import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { signalProcess } from '../../../../agent/gateway/signal-process.ts';
import type { ReloadSignal } from '../../../../agent/resource/judge-resource.ts';
import { fakeProcesses } from '../support/fake-processes.ts';

const hangUp = (process: string): ReloadSignal => ({ name: 'SIGHUP', process });

/** Of processes with more capabilities than the agent. */
const HIDDEN = { mounts: 'EACCES' };

type Given = Parameters<typeof fakeProcesses>[0];

function signalsOf(given: Given, signal: ReloadSignal = hangUp('nginx')): string[] {
  const table = fakeProcesses(given);
  signalProcess(signal, table);
  return table.signals;
}

suite('the signal goes to', () => {
  test('the oldest process of that name', () => {
    const given: Given = [
      [9, { comm: 'nginx', startTicks: 20 }],
      [12, { comm: 'nginx', startTicks: 10 }],
      [1, { comm: 'pause', startTicks: 1 }],
    ];
    assert.deepEqual(signalsOf(given), ['12 SIGHUP']);
  });

  test('the one with the lower ID of two that started in the same tick', () => {
    assert.deepEqual(signalsOf([10, 9].map((pid) => [pid, { comm: 'nginx' }])), ['9 SIGHUP']);
  });

  test("none of the agent's own container, and none that has ended", () => {
    const given: Given = [
      [2, { comm: 'node', startTicks: 1, mounts: 'mnt:[1]' }],
      [3, { comm: 'node', startTicks: 2, state: 'Z' }],
      [9, { comm: 'node', startTicks: 9 }],
    ];
    assert.deepEqual(signalsOf(given, hangUp('node')), ['9 SIGHUP']);
  });

  test("one whose mount namespace the agent isn't allowed to read", () => {
    assert.deepEqual(signalsOf([[9, { comm: 'nginx', faults: { mounts: 'EACCES' } }]]), ['9 SIGHUP']);
  });

  test('the oldest of those in one cgroup, if the agent can read the mount namespaces of some', () => {
    const worker: Given = [[12, { comm: 'nginx', startTicks: 1_001 }]];
    assert.deepEqual(signalsOf([[9, { comm: 'nginx', faults: HIDDEN }], ...worker]), ['9 SIGHUP']);
    const unknown = { ...HIDDEN, cgroup: 'ENOENT' };
    assert.deepEqual(signalsOf([[9, { comm: 'nginx', faults: unknown, cgroup: '/b' }], ...worker]), ['9 SIGHUP']);
  });

  test('one that waits for it, and with SIGTERM also one that does not handle it', () => {
    assert.deepEqual(signalsOf([[9, { comm: 'nginx', catches: [], blocks: ['SIGHUP'] }]]), ['9 SIGHUP']);
    const terminate: ReloadSignal = { name: 'SIGTERM', process: 'nginx' };
    assert.deepEqual(signalsOf([[9, { comm: 'nginx', catches: [] }]], terminate), ['9 SIGTERM']);
  });
});

suite('no signal is sent, and the agent tries again, if', () => {
  const waiting: [what: string, given: Given, code: string, message: RegExp][] = [
    ['no other container runs', [], 'gateway.noProcess', / nginx /],
    [
      'no process has this name',
      [...'fedcba'].map((comm, index) => [index + 1, { comm }]),
      'gateway.noProcess',
      / a, b, c, d, e .* 1 /,
    ],
    ['a name contains control characters', [[1, { comm: '\x1b[31mé\n' }]], 'gateway.noProcess', / \?\[31m\?\?$/],
    ['processes are hidden', [[1, { comm: 'nginx', faults: { stat: 'EPERM' } }]], 'gateway.hidden', /: 1$/],
    ['it ended meanwhile', [[1, { comm: 'nginx', faults: { stat: 'ESRCH' } }]], 'gateway.noProcess', / nginx /],
    ['it ended before the signal', [[1, { comm: 'nginx', faults: { kill: 'ESRCH' } }]], 'gateway.ended', /nginx \(1\)/],
    ['it does not handle it', [[1, { comm: 'nginx', catches: ['SIGUSR1'] }]], 'gateway.starting', / SIGHUP /],
  ];
  for (const [what, given, code, message] of waiting)
    test(what, () => {
      const table = fakeProcesses(given);
      assert.throws(() => signalProcess(hangUp('nginx'), table), { name: 'WaitingError', code, message });
      assert.deepEqual(table.signals, []);
    });

  test('another process got the ID after the list was read', () => {
    const table = fakeProcesses([[7, { comm: 'nginx' }]]);
    const reuse = () => table.processes.set(7, { comm: 'nginx', startTicks: 2_000 });
    const end = () => table.processes.delete(7);
    for (const onStatus of [reuse, end]) {
      table.processes.set(7, { comm: 'nginx', onStatus });
      assert.throws(() => signalProcess(hangUp('nginx'), table), { code: 'gateway.ended' });
    }
    assert.deepEqual(table.signals, []);
  });
});

suite('the error says what to change if', () => {
  test('the containers share no process namespace', () => {
    const table = { ...fakeProcesses([[1, { comm: 'nginx' }]]), isShared: false };
    assert.throws(() => signalProcess(hangUp('nginx'), table), {
      name: 'TerminalError',
      code: 'gateway.notShared',
    });
    assert.deepEqual(table.signals, []);
  });

  test('more than one container runs a process of that name', () => {
    const table = fakeProcesses([
      [5, { comm: 'node', startTicks: 5, faults: { mounts: 'EACCES' } }],
      [7, { comm: 'node', startTicks: 10, mounts: 'mnt:[5]' }],
      [8, { comm: 'node', startTicks: 15, mounts: 'mnt:[5]' }],
      [9, { comm: 'node', argv: ['/bin/server'], startTicks: 20, mounts: 'mnt:[6]' }],
    ]);
    assert.throws(() => signalProcess(hangUp('node'), table), {
      name: 'TerminalError',
      code: 'gateway.ambiguous',
      message: / node \(7\) .* node \(9\) /,
    });
    assert.deepEqual(table.signals, []);
    signalProcess(hangUp('server'), table);
    assert.deepEqual(table.signals, ['9 SIGHUP']);
  });

  test('more than one container runs such a process, and the agent can read the mount namespace of one or none', () => {
    for (const faults of [HIDDEN, {}]) {
      const table = fakeProcesses([
        [7, { comm: 'nginx', startTicks: 5, faults: HIDDEN }],
        [8, { comm: 'nginx', startTicks: 6, faults: HIDDEN }],
        [9, { comm: 'nginx', startTicks: 7, faults, cgroup: '/b' }],
      ]);
      assert.throws(() => signalProcess(hangUp('nginx'), table), { message: / nginx \(7\) .* nginx \(9\) / });
      assert.deepEqual(table.signals, []);
    }
  });

  test('the node denies the signal to a process of the same user', () => {
    for (const kill of ['EACCES', 'EPERM'])
      assert.throws(() => signalsOf([[7, { comm: 'nginx', faults: { kill } }]]), {
        name: 'TerminalError',
        code: 'gateway.denied',
      });
  });

  test('the process has another user', () => {
    const runAs = (uid: number) => () => signalsOf([[7, { comm: 'nginx', uid, faults: { kill: 'EPERM' } }]]);
    assert.throws(runAs(1_000), { code: 'gateway.otherUser', message: / 1000 .* 101.* 1000$/ });
    assert.throws(runAs(0), { code: 'gateway.otherUser', message: / agent\.allowRoot\b/ });
  });
});
