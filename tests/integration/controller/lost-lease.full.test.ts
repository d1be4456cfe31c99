import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import { json } from 'node:stream/consumers';
import { suite, type TestContext, test } from 'node:test';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import { groupPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { mergePatch } from '../../support/cluster.ts';
import { gatewayPod } from '../../support/gateway-pods.ts';
import { applyGatewaySync } from '../../support/gateway-syncs.ts';
import { until } from '../../support/until.ts';
import { startInjection } from './injection-world.ts';

/** A leader whose admission endpoint the API server calls. */
async function startLeader(t: TestContext) {
  const healthPort = await freePort();
  const environment = { LEADER_ELECTION: 'true', HEALTH_PORT: String(healthPort) };
  const world = await startInjection(t, { environment });
  await applyGatewaySync({ namespace: world.namespace, name: 'app' }, { repo: 'http://127.0.0.1:1/app.git' });
  await world.controller.waitForLog(/became leader/);
  const isReady = async () => (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status === 200;
  return { ...world, isReady };
}

const giveLeaseToAnother = (namespace: string) =>
  mergePatch(groupPath('coordination.k8s.io/v1', 'leases', namespace, 'stoker-operator-controller'), {
    spec: { holderIdentity: 'another', leaseDurationSeconds: 15 },
  });

/** A review of which the endpoint has received the headers and half of the body. */
function beginReview({ namespace, port }: { namespace: string; port: number }) {
  const body = JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'in-flight',
      namespace,
      object: gatewayPod(namespace, 'in-flight'),
    },
  });
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
  const options: RequestOptions = { port, path: '/mutate-v1-pod', method: 'POST', headers, rejectUnauthorized: false };
  const outgoing = request(options);
  const answer = new Promise<unknown>((resolve, reject) => {
    outgoing.on('error', reject);
    outgoing.on('response', (response: IncomingMessage) => resolve(json(response)));
  });
  answer.catch(() => {});
  outgoing.write(body.slice(0, 100));
  return { answer, finish: () => outgoing.end(body.slice(100)) };
}

suite('a leader that lost its lease', { concurrency: 2 }, () => {
  test('turns unready, answers the reviews in progress, and then ends', async (t) => {
    const { namespace, controller, port, isReady } = await startLeader(t);
    await until(isReady, { describe: 'ready' });
    const review = beginReview({ namespace, port });
    await giveLeaseToAnother(namespace);
    await until(isReady, { describe: 'unready', accept: (ready) => !ready });
    review.finish();
    const { response } = (await review.answer) as { response: { uid: string; patchType: string } };
    assert.deepEqual([response.uid, response.patchType], ['in-flight', 'JSONPatch']);
    assert.equal(await controller.ended, 'leaseLost');
  });

  test('ends even if a review never ends', async (t) => {
    const { namespace, controller, port } = await startLeader(t);
    const review = beginReview({ namespace, port });
    await giveLeaseToAnother(namespace);
    await controller.waitForLog(/the lease was lost/);
    assert.equal(await controller.ended, 'leaseLost');
    await assert.rejects(review.answer);
  });
});
