import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type StartingStatus, waitingOf } from '../../../../controller/watch/observed-waiting.ts';

const gateway = { name: 'gateway', image: 'registry.test/gateway:1' };
const waits = (reason: string, message = '', more = {}): StartingStatus => ({
  containerStatuses: [{ ...gateway, state: { waiting: { reason, message } }, ...more }],
});
const sidecar = { name: 'sync-agent', image: 'agent:2', state: { waiting: { reason: 'ErrImagePull' } } };
const killed = { lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } } };
const unscheduled = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' };

suite('why a pod does not start', () => {
  const cases: [what: string, status: StartingStatus | undefined, words: string | undefined][] = [
    ['a pod without a status', undefined, undefined],
    ['a pod that runs', { containerStatuses: [{ name: 'gateway', state: {} }] }, undefined],
    ['a pod on its way', waits('ContainerCreating'), undefined],
    ['a pod whose init containers run', waits('PodInitializing'), undefined],
    [
      'an image that cannot be pulled, without the words of a registry',
      waits('ImagePullBackOff', 'Back-off: https://registry.test/?token=secret'),
      'container gateway waits: ImagePullBackOff (registry.test/gateway:1)',
    ],
    [
      'what the kubelet misses',
      waits('CreateContainerConfigError', 'configmap "settings" not found'),
      'container gateway waits: CreateContainerConfigError: configmap "settings" not found',
    ],
    [
      'a container that ends again and again',
      waits('CrashLoopBackOff', 'back-off 5m0s', killed),
      'container gateway waits: CrashLoopBackOff (exit code 137, OOMKilled)',
    ],
    [
      'the sidecar before the gateway that waits for it',
      { ...waits('PodInitializing'), initContainerStatuses: [sidecar] },
      'container sync-agent waits: ErrImagePull (agent:2)',
    ],
    [
      'a pod that fits on no node',
      { conditions: [{ ...unscheduled, message: '0/3 nodes are available: 3 Insufficient memory.' }] },
      'not scheduled: Unschedulable: 0/3 nodes are available: 3 Insufficient memory.',
    ],
    ['a pod that is scheduled', { conditions: [{ type: 'PodScheduled', status: 'True' }] }, undefined],
  ];
  for (const [what, status, words] of cases) test(what, () => assert.equal(waitingOf(status), words));

  test('is one short line, whatever the status contains', () => {
    const hostile = `a\nb\u001b[31m\u202e\u0000c ${'😀'.repeat(5_000)}`;
    const words = waitingOf({ conditions: [{ ...unscheduled, message: hostile }] }) ?? '';
    assert.ok(words.startsWith('not scheduled: Unschedulable: a b [31m c 😀'), words);
    assert.ok(words.length <= 200 && words.endsWith('…'));
    assert.ok(words.isWellFormed() && !/[\p{C}\n]/u.test(words.replaceAll('😀', '')));
  });
});
