import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signDelivery } from '../../../scripts/testbed/sign-delivery.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { connectCluster, createNamespace, managersOf } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { annotationsOf, createGatewaySync, patchOnlyKubeconfig, startOwnReceiver } from './start-receiver.ts';

const cluster = await connectCluster();
const github = (event: string) => ({ 'X-GitHub-Event': event });

test('a request and a push are stored in separate annotations, with only patch permission', async (t) => {
  const namespace = await createNamespace(t);
  await createGatewaySync(cluster, namespace, 'demo');
  const receiver = await startOwnReceiver(t, await patchOnlyKubeconfig(cluster, namespace));

  const release = { action: 'published', release: { tag_name: 'v1.2.3', draft: false } };
  const requested = await receiver.post(`${namespace}/demo`, release, github('release'));
  assert.equal(requested.status, 202, JSON.stringify(requested.body));
  const pushed = await receiver.post(`${namespace}/demo`, { ref: 'refs/heads/main' }, github('push'));
  assert.equal(pushed.status, 202);

  const {
    'sync.io/requested-at': requestedAt,
    'sync.io/pushed-at': pushedAt,
    ...rest
  } = await annotationsOf(cluster, namespace, 'demo');
  assert.deepEqual(rest, {
    'sync.io/requested-ref': 'v1.2.3',
    'sync.io/requested-by': 'github',
    'sync.io/requested-repo': '-',
    'sync.io/request-id': requested.body.requestId,
    'sync.io/pushed-ref': 'refs/heads/main',
    'sync.io/pushed-repo': '-',
  });
  for (const time of [requestedAt, pushedAt]) assert.equal(new Date(String(time)).toISOString(), time);
});

test('stored annotations belong to the field manager of the receiver', async (t) => {
  const namespace = await createNamespace(t);
  await createGatewaySync(cluster, namespace, 'demo');
  const receiver = await startOwnReceiver(t, cluster.kubeconfig);
  await receiver.post(`${namespace}/demo`, { ref: 'v1' });
  assert.ok((await managersOf(gatewaySyncPath(namespace, 'demo'))).includes('sync-receiver'));
});

test('a burst for one resource is answered completely, and the newest request is stored', async (t) => {
  const namespace = await createNamespace(t);
  await createGatewaySync(cluster, namespace, 'demo');
  const receiver = await startOwnReceiver(t, cluster.kubeconfig);
  const replies = await Promise.all(
    Array.from({ length: 300 }, (_, i) =>
      receiver.post(`${namespace}/demo`, { ref: i % 2 ? `v${i}` : 'refs/heads/main' }),
    ),
  );
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [202]);
  const kept = replies
    .filter(({ body }) => String(body.ref).startsWith('v') && !body.superseded)
    .map(({ body }) => body.requestId);
  const annotations = await annotationsOf(cluster, namespace, 'demo');
  assert.ok(kept.includes(annotations['sync.io/request-id']));
  const metrics = await (await fetch(receiver.metricsUrl)).text();
  const patches = Number(/sync_receiver_patch_duration_seconds_count\{code="200"\} (\d+)/.exec(metrics)?.[1]);
  assert.ok(patches < replies.length, `${patches} patches for ${replies.length} deliveries`);
});

test('a missing resource results in 404, and a wrong signature in 401 as for existing ones', async (t) => {
  const namespace = await createNamespace(t);
  await createGatewaySync(cluster, namespace, 'demo');
  const receiver = await startOwnReceiver(t, cluster.kubeconfig, { WEBHOOK_HMAC_SECRET: 'key' });
  const body = JSON.stringify({ ref: 'v1' });
  const good = { 'X-Hub-Signature-256': signDelivery(body, 'key') };
  const bad = { 'X-Hub-Signature-256': `sha256=${'0'.repeat(64)}` };

  assert.equal((await receiver.post(`${namespace}/missing`, body, good)).status, 404);
  assert.equal((await receiver.post(`no-such-${namespace}/demo`, body, good)).status, 404);
  const there = await receiver.post(`${namespace}/demo`, body, bad);
  const missing = await receiver.post(`${namespace}/missing`, body, bad);
  assert.equal(there.status, 401);
  assert.deepEqual([missing.status, missing.body], [there.status, there.body]);
  assert.deepEqual(await annotationsOf(cluster, namespace, 'demo'), {});
  assert.equal((await receiver.post(`${namespace}/demo`, body, good)).status, 202);
  assert.ok(!receiver.program.output.includes(good['X-Hub-Signature-256'].slice(7)));
  assert.ok(!receiver.program.output.includes('"key"'));
});

test('a missing permission results in 500 without Retry-After, never in 404', slow, async (t) => {
  const namespace = await createNamespace(t);
  await createGatewaySync(cluster, namespace, 'demo');
  const kubeconfig = await cluster.kubeconfigFor({ namespace, serviceAccount: 'default' });
  const receiver = await startOwnReceiver(t, kubeconfig);
  const { status, headers, body } = await receiver.post(`${namespace}/demo`, { ref: 'v1' });
  assert.deepEqual([status, headers.get('retry-after'), body.reason], [500, null, 'ApiServerRefused']);
  await receiver.program.waitForLog(/the API server rejected a patch/);
});

test('a receiver without authentication reports that', async (t) => {
  const open = await startOwnReceiver(t, cluster.kubeconfig);
  assert.match(open.program.output, /"level":"warn".*authentication is off/);
  assert.match(await (await fetch(open.metricsUrl)).text(), /^sync_receiver_unauthenticated 1$/m);
  const closed = await startOwnReceiver(t, cluster.kubeconfig, { WEBHOOK_BEARER_TOKEN: 'token' });
  assert.doesNotMatch(closed.program.output, /authentication is off/);
  assert.match(await (await fetch(closed.metricsUrl)).text(), /^sync_receiver_unauthenticated 0$/m);
});
