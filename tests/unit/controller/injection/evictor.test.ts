import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { suite, test } from 'node:test';
import type { V1Eviction } from '@kubernetes/client-node';
import { Evictor } from '../../../../controller/injection/evictor.ts';
import type { Injection } from '../../../../controller/injection/inject-sidecar.ts';
import type { ObservedPod } from '../../../../controller/watch/observed-pod.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import type { ApiRequest } from '../../../../shared/io/kubernetes/client.ts';
import { createLogger } from '../../../../shared/log.ts';
import { clientWith } from '../../../support/client-with.ts';

interface Given {
  name: string;
  /** If omitted, one made from the name. */
  uid?: string;
  owner?: { kind: string; uid: string; controller?: boolean } | undefined;
  hasSidecar?: boolean;
  isDeleting?: boolean;
}

const patched: Injection = { kind: 'patched', patch: [], crName: 'app', profile: 'default', warnings: [] };

interface Server {
  injection?: Injection;
  refusal?: number;
  /** Whether a new pod takes the name of each pod after the evictor has read it, as in a StatefulSet. */
  isReplaced?: boolean;
}

const uidOf = ({ name, uid = `uid-${name}` }: Given) => uid;

/** An API server with these pods, and the evictions that it made. */
function arrange({ injection = patched, refusal = 0, isReplaced = false }: Server = {}) {
  const pods: Given[] = [];
  const evicted: string[] = [];
  const clock = { now: 0 };
  const objectOf = ({ owner, hasSidecar, isDeleting, ...pod }: Given) => ({
    metadata: {
      name: pod.name,
      namespace: 'ns',
      uid: uidOf(pod),
      ...(isDeleting && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      ownerReferences: owner ? [{ controller: true, name: 'owner', ...owner }] : [],
    },
    spec: { containers: [{ name: 'gateway' }, ...(hasSidecar ? [{ name: 'sync-agent' }] : [])] },
  });
  const stream = async ({ query = {} }: ApiRequest) => {
    const [, name] = String(query.fieldSelector ?? '').split('=');
    const items = pods.filter((pod) => (name ? pod.name === name : pod.hasSidecar)).map(objectOf);
    return Readable.from([Buffer.from(JSON.stringify({ metadata: {}, items }))]);
  };
  const create = async (path: string, { deleteOptions }: V1Eviction) => {
    if (refusal > 0) throw new ApiError(refusal, '{}');
    const name = path.split('/').at(-2) ?? '';
    const uid = deleteOptions?.preconditions?.uid;
    if (uid && !pods.some((pod) => pod.name === name && uidOf(pod) === uid)) throw new ApiError(409, '{}');
    evicted.push(name);
  };
  const review = () => {
    if (isReplaced) for (const pod of pods) pod.uid = 'new';
    return injection;
  };
  const evictor = new Evictor({
    client: clientWith({ stream, create }),
    review,
    onEvicted: () => {},
    log: createLogger('test', { level: 'silent' }),
    now: () => clock.now,
  });
  const sweep = async () => {
    const missing = pods
      .filter(({ hasSidecar }) => !hasSidecar)
      .map(({ name, owner }) => ({ namespace: 'ns', name, uid: `uid-${name}`, ownerUid: owner?.uid }) as ObservedPod);
    await evictor.evictSome('ns/app', missing, new AbortController().signal);
    clock.now += 60_000;
    return evicted.splice(0);
  };
  return { pods, sweep, clock };
}

const set = (uid: string) => ({ kind: 'ReplicaSet', uid });

suite('a pod without the sidecar is evicted', () => {
  test('if an object controls it', async () => {
    const { pods, sweep } = arrange();
    pods.push({ name: 'a', owner: set('x') });
    assert.deepEqual(await sweep(), ['a']);
  });

  const kept: [why: string, pod: Given, more?: Parameters<typeof arrange>[0]][] = [
    ['no object controls it', { name: 'a', owner: undefined }],
    ['it is owned, and not controlled', { name: 'a', owner: { ...set('x'), controller: false } }],
    ['a node runs it by itself', { name: 'a', owner: { kind: 'Node', uid: 'x' } }],
    ['it is being deleted', { name: 'a', owner: set('x'), isDeleting: true }],
    [
      'a new one would be denied',
      { name: 'a', owner: set('x') },
      { injection: { kind: 'denied', message: 'no profile', because: 'resource' } },
    ],
    ['a new one would stay as it is', { name: 'a', owner: set('x') }, { injection: { kind: 'unchanged' } }],
    ['a budget keeps it', { name: 'a', owner: set('x') }, { refusal: 429 }],
    ['it is gone', { name: 'a', owner: set('x') }, { refusal: 404 }],
    ['a new one has taken its name', { name: 'a', owner: set('x') }, { isReplaced: true }],
  ];
  for (const [why, pod, more] of kept)
    test(`but not if ${why}`, async () => {
      const { pods, sweep } = arrange(more);
      pods.push(pod);
      assert.deepEqual(await sweep(), []);
    });

  test('one at a time per owner, the next one after a new pod has the sidecar', async () => {
    const { pods, sweep } = arrange();
    pods.push({ name: 'a', owner: set('x') }, { name: 'b', owner: set('x') }, { name: 'c', owner: set('y') });
    assert.deepEqual(await sweep(), ['a', 'c']);
    pods.splice(0, 3, { name: 'b', owner: set('x') });
    assert.deepEqual(await sweep(), [], 'no new pod yet');
    pods.push({ name: 'new', owner: set('x'), hasSidecar: true });
    assert.deepEqual(await sweep(), ['b']);
  });

  test('and no other pod of its owner for half an hour, if the new one lacks the sidecar as well', async () => {
    const { pods, sweep, clock } = arrange();
    pods.push({ name: 'a', owner: set('x') });
    assert.deepEqual(await sweep(), ['a']);
    pods.splice(0, 1, { name: 'again', owner: set('x') });
    for (let minute = 0; minute < 30; minute += 1) assert.deepEqual(await sweep(), []);
    clock.now += 60_000;
    assert.deepEqual(await sweep(), ['again']);
  });

  test('with few others at once, however many owners there are', async () => {
    const { pods, sweep } = arrange();
    for (let index = 0; index < 100; index += 1) pods.push({ name: `pod-${index}`, owner: set(`x-${index}`) });
    assert.equal((await sweep()).length, 5);
  });
});
