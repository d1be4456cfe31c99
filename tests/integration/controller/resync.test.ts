import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { configSchema } from '../../../controller/config.ts';
import { Controller } from '../../../controller/controller.ts';
import { createMetrics } from '../../../controller/metrics/metrics.ts';
import { clientOf } from '../../../scripts/testbed/client-of.ts';
import { readConfig } from '../../../shared/config.ts';
import { createLogger } from '../../../shared/log.ts';
import { apply, connectCluster, createNamespace } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { gatewayPod, injectedPod } from '../../support/gateway-pods.ts';
import { applyGatewaySync, condition, untilCommit, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { until } from '../../support/until.ts';
import { createPod } from './injection-world.ts';

const COMMIT = 'a'.repeat(40);

/** Leads in this process, with a git server that has one commit. `mayWrite` and the client can be changed. */
async function lead(t: TestContext) {
  const namespace = await createNamespace(t);
  const metrics = createMetrics();
  const writes: string[] = [];
  const queries: string[] = [];
  const lease = { isHeld: true };
  const client = clientOf((await connectCluster()).kubeconfig, {
    userAgent: 'test',
    onCall: (verb) => verb === 'GET' || writes.push(verb),
  });
  const controller = new Controller(
    {
      client,
      mayWrite: () => lease.isHeld,
      serverTime: Date.now,
      connect: ({ git }) => ({
        query: async () => {
          queries.push(git.repo);
          return { refs: new Map([['refs/heads/main', COMMIT]]) };
        },
      }),
      githubApps: undefined,
      sendStatus: async () => {},
      metrics,
      log: createLogger('test', { level: 'silent' }),
    },
    readConfig(configSchema, { WATCH_NAMESPACES: namespace, WEBHOOK_PORT: '0' }),
    { resyncMs: 300 },
  );
  const stopping = new AbortController();
  const running = [controller.caches.run(stopping.signal), controller.lead(stopping.signal)];
  t.after(async () => {
    stopping.abort();
    await Promise.all(running);
    client.close();
  });
  return { namespace, metrics, writes, queries, lease, client, controller };
}

test("a leader judges a fleet only when it has searched for the pods that don't exist", async (t) => {
  const { namespace, client } = await lead(t);
  const chunks = client.chunks.bind(client);
  client.chunks = async function* (request, idleTimeoutMs) {
    if (request.path.endsWith('/replicasets')) await sleep(500);
    yield* chunks(request, idleTimeoutMs);
  };
  const { metadata, spec } = gatewayPod('', '');
  const selector = { matchLabels: { app: 'gateway' } };
  const withoutAccount = { ...spec, serviceAccountName: 'none' };
  const template = { metadata: { ...metadata, labels: selector.matchLabels }, spec: withoutAccount };
  const replicaSet = { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name: 'gateway', namespace } };
  await apply({ ...replicaSet, spec: { selector, template } });
  const address = { namespace, name: 'app' };
  await applyGatewaySync(address, { repo: 'https://git.test/app.git' });
  const judged = await untilGatewaySync(
    address,
    'judged',
    (seen) => condition(seen, 'AllGatewaysSynced') !== undefined && seen.status?.lastSyncCommit === COMMIT,
  );
  assert.match(condition(judged, 'Ready')?.message ?? '', /ReplicaSet gateway/);
});

test('each resync checks everything, and neither writes nor queries anything if nothing changed', slow, async (t) => {
  const { namespace, metrics, writes, queries, lease, controller } = await lead(t);
  await createPod(injectedPod(namespace, 'gateway-0', 'one'));
  for (const name of ['one', 'two']) {
    await applyGatewaySync({ namespace, name }, { repo: `https://git.test/${name}.git` });
    await untilCommit({ namespace, name }, COMMIT);
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

  lease.isHeld = false;
  const three = { namespace, name: 'three' };
  await applyGatewaySync(three, { repo: 'https://git.test/three.git' });
  await until(() => controller.caches.gatewaySync(`${namespace}/three`), { describe: 'three', accept: Boolean });
  const taken = async () =>
    (await metrics.queueSeconds.get()).values.find(({ metricName }) => metricName?.endsWith('_count'))?.value ?? 0;
  const before = await taken();
  await until(async () => (await taken()) >= before + 6, { describe: 'two more attempts for each' });
  assert.deepEqual(writes.slice(written), [], 'nothing is written while the renewal of the lease is late');
  lease.isHeld = true;
  await untilCommit(three, COMMIT);
});
