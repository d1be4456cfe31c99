import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Controller } from '../../../controller/controller.ts';
import { createMetrics } from '../../../controller/metrics/metrics.ts';
import { clientOf } from '../../../scripts/testbed/client-of.ts';
import { createLogger } from '../../../shared/log.ts';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import { injectedPod } from '../../support/gateway-pods.ts';
import { applyGatewaySync, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { until } from '../../support/until.ts';
import { DEFAULT_LIMITS } from '../../unit/controller/support/default-limits.ts';
import { createPod } from './injection-world.ts';

test('each resync checks everything, and neither writes nor queries anything if nothing changed', async (t) => {
  const namespace = await createNamespace(t);
  const metrics = createMetrics();
  const writes: string[] = [];
  const queries: string[] = [];
  let isLeaseHeld = true;
  const client = clientOf((await connectCluster()).kubeconfig, {
    userAgent: 'test',
    onCall: (verb) => verb === 'GET' || writes.push(verb),
  });
  const controller = new Controller(
    {
      client,
      replicaClient: client,
      mayWrite: () => isLeaseHeld,
      connect: ({ git }) => ({
        query: async () => {
          queries.push(git.repo);
          return new Map([['refs/heads/main', 'a'.repeat(40)]]);
        },
      }),
      githubApps: undefined,
      sendStatus: async () => {},
      reviewForEviction: undefined,
      metrics,
      log: createLogger('test', { level: 'silent' }),
    },
    {
      namespaces: [namespace],
      limits: DEFAULT_LIMITS,
      bindAgents: true,
      installation: { cluster: '', areAuthorsChecked: false, isLabelRequired: false },
      instance: 'test',
      resyncMs: 300,
    },
  );
  const stopping = new AbortController();
  const running = [controller.caches.run(stopping.signal), controller.lead(stopping.signal)];
  t.after(async () => {
    stopping.abort();
    await Promise.all(running);
    client.close();
  });
  await createPod(injectedPod(namespace, 'gateway-0', 'one'));
  for (const name of ['one', 'two']) {
    await applyGatewaySync({ namespace, name }, { repo: `https://git.test/${name}.git` });
    await untilGatewaySync({ namespace, name }, 'resolved', ({ status }) => status?.lastSyncCommit === 'a'.repeat(40));
  }
  const reconciles = async () => (await metrics.reconciles.get()).values.find(({ value }) => value > 0)?.value ?? 0;
  const settled = async () => {
    const before = writes.length;
    const seen = await reconciles();
    await until(async () => (await reconciles()) >= seen + 4, { describe: 'two rounds' });
    return writes.length === before;
  };
  await until(settled, { describe: 'all that was to be written is' });
  const written = writes.length;
  const asked = queries.length;
  const seen = await reconciles();
  await until(async () => (await reconciles()) >= seen + 10, { describe: 'five rounds' });
  assert.deepEqual(writes.slice(written), []);
  assert.deepEqual(queries.slice(asked), []);

  isLeaseHeld = false;
  const three = { namespace, name: 'three' };
  await applyGatewaySync(three, { repo: 'https://git.test/three.git' });
  await until(() => controller.caches.gatewaySync(`${namespace}/three`), { describe: 'three', accept: Boolean });
  const taken = async () =>
    (await metrics.queueSeconds.get()).values.find(({ metricName }) => metricName?.endsWith('_count'))?.value ?? 0;
  const before = await taken();
  await until(async () => (await taken()) >= before + 6, { describe: 'two more attempts for each' });
  assert.deepEqual(writes.slice(written), [], 'nothing is written while the renewal of the lease is late');
  isLeaseHeld = true;
  await untilGatewaySync(three, 'resolved', ({ status }) => status?.lastSyncCommit === 'a'.repeat(40));
});
