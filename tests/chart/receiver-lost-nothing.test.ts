import assert from 'node:assert/strict';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { clientOf } from '../../scripts/testbed/client-of.ts';
import { signDelivery } from '../../scripts/testbed/sign-delivery.ts';
import { type Balancer, startBalancer } from '../integration/receiver/start-balancer.ts';
import { createGatewaySync, type Receiver, startReceiver } from '../integration/receiver/start-receiver.ts';
import { type StoredRequests, watchStoredRequests } from '../integration/receiver/stored-requests.ts';
import { connectCluster } from '../support/cluster.ts';
import { slow } from '../support/depth.ts';
import { until } from '../support/until.ts';
import { installReceiverRights } from './support/install-receiver-rights.ts';

const cluster = await connectCluster();
const names = ['demo', 'other', 'third'];
const secret = 'key';

interface Delivery {
  name: string;
  sentAt: number;
  answeredAt: number;
  /** Undefined if the connection broke. */
  status: number | undefined;
  body: Record<string, unknown>;
}

async function deliver(port: number, namespace: string, name: string, ref: string): Promise<Delivery> {
  const body = JSON.stringify({ ref });
  const signature = signDelivery(body, secret);
  const headers = { 'Content-Type': 'application/json', 'X-Hub-Signature-256': signature };
  const sentAt = performance.now();
  const path = `/webhook/${namespace}/${name}`;
  const answer = await new Promise<{ status: number | undefined; text: string }>((resolve) => {
    const outgoing = request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent: false }, (response) => {
      text(response).then(
        (received) => resolve({ status: response.statusCode, text: received }),
        () => resolve({ status: undefined, text: '{}' }),
      );
    });
    outgoing.on('error', () => resolve({ status: undefined, text: '{}' }));
    outgoing.end(body);
  });
  return { name, sentAt, answeredAt: performance.now(), status: answer.status, body: JSON.parse(answer.text) };
}

/** Sends from many clients at once while `disturb` runs, and gives all deliveries. */
async function underLoad(balancer: Balancer, namespace: string, disturb: () => Promise<void>): Promise<Delivery[]> {
  let isOver = false;
  const clients = Array.from({ length: 8 }, async (_, client) => {
    const deliveries: Delivery[] = [];
    for (let i = 0; !isOver; i++) {
      const name = names[(client + i) % names.length] ?? 'demo';
      deliveries.push(await deliver(balancer.port, namespace, name, `v${client}.${i}`));
      if (deliveries.at(-1)?.status !== 202) await sleep(20);
    }
    return deliveries;
  });
  await disturb();
  isOver = true;
  return (await Promise.all(clients)).flat();
}

async function setUp(t: TestContext) {
  const { namespace, kubeconfig } = await installReceiverRights(t);
  for (const name of names.slice(1)) await createGatewaySync(cluster, namespace, name);
  const client = clientOf(cluster.kubeconfig, { userAgent: 'test' });
  const stored = watchStoredRequests(t, client, namespace);
  await until(() => stored.ids.size === names.length, { describe: 'the watch to list all resources' });
  const start = () => startReceiver(t, kubeconfig, { WEBHOOK_HMAC_SECRET: secret });
  const balancer = await startBalancer(t, new Set(await Promise.all([start(), start()])));
  return { namespace, stored, balancer, start };
}

/** Ends one replica after the other, and puts a new one in the place of each. */
async function replaceAll({ replicas }: Balancer, start: () => Promise<Receiver>, signal: 'SIGTERM' | 'SIGKILL') {
  for (const replica of [...replicas]) {
    await sleep(500);
    const ended = replica.program.stop(signal);
    replicas.delete(replica);
    replicas.add(await start());
    await ended;
  }
  await sleep(500);
}

/** Checks that each delivery accepted with 202 was stored or superseded, and that none is newer than the stored one. */
async function assertNothingLost(deliveries: Delivery[], { ids }: StoredRequests): Promise<void> {
  const accepted = deliveries.filter(({ status }) => status === 202);
  const byId = new Map(accepted.map((delivery) => [delivery.body.requestId, delivery]));
  const ownAnswers = accepted.filter(({ body }) => body.superseded !== true);
  const missing = () => ownAnswers.filter(({ name, body }) => !ids.get(name)?.includes(String(body.requestId)));
  await until(missing, { describe: 'all accepted requests in the history', accept: (list) => list.length === 0 });
  for (const name of names) {
    const last = byId.get(ids.get(name)?.at(-1) ?? '');
    // The last one may have been stored by a replica that was killed before it could respond.
    if (!last) continue;
    const newer = accepted.filter((delivery) => delivery.name === name && delivery.sentAt > last.answeredAt);
    assert.deepEqual(newer, [], `${name} holds a request that was done before these were sent`);
  }
}

test('replicas that are killed under load lose no request that they answered with 202', async (t) => {
  const { namespace, stored, balancer, start } = await setUp(t);
  const deliveries = await underLoad(balancer, namespace, () => replaceAll(balancer, start, 'SIGKILL'));
  const accepted = deliveries.filter(({ status }) => status === 202);
  assert.ok(accepted.length > 10, `${accepted.length} accepted`);
  await assertNothingLost(deliveries, stored);
  const others = deliveries.filter(({ status }) => status !== 202 && status !== 503 && status !== undefined);
  assert.deepEqual(others, []);
  t.diagnostic(`${accepted.length} of ${deliveries.length} accepted, the others broke off`);
});

test('replicas that are replaced one by one under load answer every request with 202', slow, async (t) => {
  const { namespace, stored, balancer, start } = await setUp(t);
  const deliveries = await underLoad(balancer, namespace, () => replaceAll(balancer, start, 'SIGTERM'));
  assert.ok(deliveries.length > 10, `${deliveries.length} sent`);
  const others = deliveries.filter(({ status }) => status !== 202);
  assert.deepEqual(others, []);
  await assertNothingLost(deliveries, stored);
  t.diagnostic(`${deliveries.length} accepted`);
});
