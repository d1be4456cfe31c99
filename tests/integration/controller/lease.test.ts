import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { LeaderLease, type LeaseOptions } from '../../../controller/leadership/lease.ts';
import { clientOf } from '../../../scripts/testbed/client-of.ts';
import { corePath, groupPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { createLogger } from '../../../shared/log.ts';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import { until } from '../../support/until.ts';

interface Lease {
  metadata: { labels?: Record<string, string>; ownerReferences?: object[] };
  spec?: { holderIdentity?: string; leaseDurationSeconds?: number; leaseTransitions?: number };
}

const PATH = ['coordination.k8s.io/v1', 'leases'] as const;

/** Replicas of one lease, with functions to read and change the stored one. */
async function arrange(t: TestContext) {
  const namespace = await createNamespace(t);
  const client = clientOf((await connectCluster()).kubeconfig, { userAgent: 'lease-test' });
  t.after(() => client.close());
  const log = createLogger('test', { level: 'silent' });
  const path = groupPath(...PATH, namespace, 'test');
  return {
    namespace,
    client,
    replica: (name: string, options: Partial<LeaseOptions> = {}) =>
      new LeaderLease({ client, namespace, name: 'test', replica: name, log, ...options }),
    read: () => client.getAs<Lease>(path),
    change: (patch: object) => client.mergePatch<Lease>(path, patch),
    create: (spec: Lease['spec']) =>
      client.create(groupPath(...PATH, namespace), { metadata: { name: 'test', namespace }, spec }),
  };
}

/** The same, with a replica that holds the lease. */
async function arrangeHeld(t: TestContext, options: Partial<LeaseOptions> = {}) {
  const arranged = await arrange(t);
  const lease = arranged.replica('one', options);
  await lease.acquire(t.signal);
  return { ...arranged, lease };
}

test('a lease is released even if another client has written it since its last renewal', async (t) => {
  const { lease, read, change } = await arrangeHeld(t);
  await change({ metadata: { labels: { backup: 'done' } } });
  await lease.release();
  const { metadata, spec } = await read();
  assert.deepEqual([spec?.holderIdentity, metadata.labels], ['', { backup: 'done' }]);
});

test('a lease is deleted with the pod of its holder, unless it was released', async (t) => {
  const { replica, read, namespace, client } = await arrange(t);
  const createPod = async (name: string) => {
    const spec = { containers: [{ name: 'c', image: 'none' }], terminationGracePeriodSeconds: 0 };
    const pods = corePath('pods', namespace);
    const { metadata } = await client.create<{ metadata: { uid: string } }>(pods, { metadata: { name }, spec });
    return { podUid: metadata.uid, remove: () => client.delete(corePath('pods', namespace, name)) };
  };
  const first = await createPod('one');
  const lease = replica('one', first);
  await lease.acquire(t.signal);
  const again = replica('one', first);
  await lease.release();
  await first.remove();
  assert.equal((await read()).metadata.ownerReferences, undefined, 'it was given back');

  const second = await createPod('two');
  await replica('two', second).acquire(t.signal);
  await second.remove();
  await until(() => read().catch((error: { status?: number }) => error.status), {
    describe: 'the Lease is deleted',
    accept: (found) => found === 404,
  });
  const started = performance.now();
  await again.acquire(t.signal);
  assert.ok(performance.now() - started < 12_000, 'the next one does not wait');
});

test('a lease that another replica has taken stays unchanged', async (t) => {
  const { lease, read, change } = await arrangeHeld(t);
  await change({ spec: { holderIdentity: 'another' } });
  await lease.release();
  assert.equal((await read()).spec?.holderIdentity, 'another');
});

/** A clock that a test can advance, and that counts the checks of a lease. */
function testClock() {
  const clock = { laterMs: 0, reads: 0, now: () => 0 };
  clock.now = () => {
    clock.reads += 1;
    return performance.now() + clock.laterMs;
  };
  const untilChecked = async () => {
    const before = clock.reads;
    await until(() => clock.reads > before + 10, { describe: 'several checks' });
  };
  return { clock, untilChecked };
}

test('a lease whose holder is removed stays with the leader', async (t) => {
  const { lease, replica, read, change } = await arrangeHeld(t, { retryMs: 100 });
  const { clock, untilChecked } = testClock();
  const ending = new AbortController();
  const holding = lease.hold(ending.signal);
  const spare = replica('two', { checkMs: 20, now: clock.now });
  const waiting = spare.acquire(ending.signal).catch(() => {});
  await untilChecked();
  const holder = async () => (await read()).spec?.holderIdentity ?? '';
  for (const spec of [{ holderIdentity: '' }, { holderIdentity: null }, null]) {
    await change({ spec });
    await untilChecked();
    await until(holder, { describe: 'the leader in its lease', accept: (found) => found.startsWith('one_') });
    assert.deepEqual([lease.isHeld, spare.isHeld], [true, false]);
  }
  ending.abort();
  await Promise.all([holding, waiting]);
});

const durations = [
  { what: 'that it states', seconds: 3_600, early: 3_500_000, late: 3_700_000 },
  { what: 'of our own leases, if that is longer', seconds: 1, early: 10_000, late: 20_000 },
];
for (const { what, seconds, early, late } of durations)
  test(`a lease is taken when the duration has passed ${what}`, async (t) => {
    const { create, replica } = await arrange(t);
    await create({ holderIdentity: 'gone', leaseDurationSeconds: seconds });
    const { clock, untilChecked } = testClock();
    const lease = replica('one', { checkMs: 20, now: clock.now });
    const acquiring = lease.acquire(AbortSignal.timeout(60_000));
    await untilChecked();
    clock.laterMs = early;
    await untilChecked();
    assert.equal(lease.isHeld, false);
    clock.laterMs = late;
    await acquiring;
  });

test('a lease expires while the machine sleeps', async (t) => {
  let asleepMs = 0;
  const { lease } = await arrangeHeld(t, { now: () => performance.now() + asleepMs });
  assert.ok(lease.isHeld);
  asleepMs = 60_000;
  assert.deepEqual([lease.isHeld, lease.writeWithinMs], [false, 0]);
});
