import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeaderLease } from '../../../controller/leadership/lease.ts';
import { clientOf } from '../../../scripts/testbed/client-of.ts';
import { groupPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { createLogger } from '../../../shared/log.ts';
import { connectCluster, createNamespace } from '../../support/cluster.ts';

interface Lease {
  metadata: { labels?: Record<string, string> };
  spec: { holderIdentity?: string };
}

/** A lease, and how to see and change what is stored. */
async function arrange(t: Parameters<typeof createNamespace>[0]) {
  const namespace = await createNamespace(t);
  const client = clientOf((await connectCluster()).kubeconfig, { userAgent: 'lease-test' });
  t.after(() => client.close());
  const log = createLogger('test', { level: 'silent' });
  const lease = new LeaderLease({ client, namespace, name: 'test', replica: 'one', log });
  await lease.acquire(t.signal);
  const path = groupPath('coordination.k8s.io/v1', 'leases', namespace, 'test');
  return {
    lease,
    read: () => client.get<Lease>(path),
    change: (patch: object) => client.mergePatch<Lease>(path, patch),
  };
}

test('a lease is given back also where somebody else has written it since its last renewal', async (t) => {
  const { lease, read, change } = await arrange(t);
  await change({ metadata: { labels: { backup: 'done' } } });
  await lease.release();
  const { metadata, spec } = await read();
  assert.deepEqual([spec.holderIdentity, metadata.labels], ['', { backup: 'done' }]);
});

test('a lease that another one has taken is left alone', async (t) => {
  const { lease, read, change } = await arrange(t);
  await change({ spec: { holderIdentity: 'another' } });
  await lease.release();
  assert.equal((await read()).spec.holderIdentity, 'another');
});
