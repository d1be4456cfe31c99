import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import { ApiError } from '../../../shared/io/kubernetes/api-error.ts';
import { type ApiRequest, KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, createNamespace } from '../../support/cluster.ts';
import { readEvents } from '../../support/events.ts';
import { injectedPod, markReady, report } from '../../support/gateway-pods.ts';
import {
  type Address,
  applyGatewaySync,
  patchResource,
  push,
  untilGatewaySync,
  untilStatus,
} from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';

/** An agent that follows rollouts. */
const agentVersion = '0.1.0';

/** A resource with one gateway, which reports with `fail` that it can't deliver the next commit. */
async function arrange(t: TestContext) {
  const { repository, commit } = await serveRepository(t);
  const address = { namespace: await createNamespace(t), name: 'app' };
  const pod = { namespace: address.namespace, name: 'gateway' };
  const controller = await startController(t, address.namespace);
  await apply(injectedPod(pod.namespace, pod.name, address.name));
  await markReady(pod.namespace, pod.name);
  await applyGatewaySync(address, { repo: repository.url }, { rollout: { previewTimeout: '0s' } });
  const first = await untilStatus(address, { rollout: { phase: 'Complete', commit } });
  const { revision } = first.status?.rollout ?? {};
  await report(pod, { commit, revision, agentVersion });
  await untilStatus(address, { gateways: { synced: 1 } });
  const fail = async () => {
    const second = await repository.commit({ files: { 'config/a': 'bad' } });
    await push(address, 'main');
    const { status } = await untilStatus(address, { rollout: { phase: 'Progressing', commit: second, admitted: 1 } });
    const rollout = status?.rollout?.number;
    const failed = { state: 'Error', hasFailed: true, message: 'no such file' } as const;
    await report(pod, { rollout, commit: second, revision, agentVersion, ...failed });
  };
  return { address, controller, fail };
}

/** Loses the response to the write of the phase Stopped, and then also all later requests if its sender `dies`. */
function loseResponse(t: TestContext, { namespace, name }: Address, { dies = false } = {}) {
  const path = `${gatewaySyncPath(namespace, name)}/status`;
  const { request } = KubernetesClient.prototype;
  const dead = new WeakSet<KubernetesClient>();
  const lost: ApiRequest[] = [];
  t.mock.method(KubernetesClient.prototype, 'request', async function (this: KubernetesClient, sent: ApiRequest) {
    if (dead.has(this)) throw new Error('socket hang up');
    const response = await request.call(this, sent);
    const { rollout } = (sent.body as { status?: GatewaySyncStatus } | undefined)?.status ?? {};
    if (lost.length > 0 || sent.path !== path || rollout?.phase !== 'Stopped') return response;
    lost.push(sent);
    if (dies) dead.add(this);
    throw new Error('socket hang up');
  });
  return lost;
}

/** Refuses the event about the phase Stopped to the first client that sends it. */
function refuseEvents(t: TestContext) {
  const { request } = KubernetesClient.prototype;
  const refused: { client?: KubernetesClient } = {};
  t.mock.method(KubernetesClient.prototype, 'request', async function (this: KubernetesClient, sent: ApiRequest) {
    const { reason } = (sent.body as { reason?: string } | undefined) ?? {};
    if (reason === 'RolloutStopped') refused.client ??= this;
    if (reason !== 'RolloutStopped' || refused.client !== this) return await request.call(this, sent);
    throw new ApiError(503, '{}');
  });
  return refused;
}

const untilStopped = async (address: Address) =>
  await until(async () => (await readEvents(address)).filter(({ reason }) => reason === 'RolloutStopped'), {
    describe: 'the event',
    accept: ({ length }) => length > 0,
    timeout: 30_000,
  });

suite('a phase of a rollout is announced', { concurrency: 1 }, () => {
  test('if the response to its status write is lost', async (t) => {
    const { address, fail } = await arrange(t);
    const lost = loseResponse(t, address);
    await fail();
    await untilStatus(address, { rollout: { phase: 'Stopped' } });
    assert.equal((await untilStopped(address)).length, 1);
    assert.equal(lost.length, 1);
  });

  test('by the next leader if this one ends after its status write', async (t) => {
    const { address, controller, fail } = await arrange(t);
    const lost = loseResponse(t, address, { dies: true });
    await fail();
    await untilStatus(address, { rollout: { phase: 'Stopped' } });
    await until(() => lost.length > 0, { describe: 'a lost response' });
    await controller.stop();
    assert.deepEqual(
      (await readEvents(address)).filter(({ reason }) => reason === 'RolloutStopped'),
      [],
    );
    await startController(t, address.namespace);
    assert.equal((await untilStopped(address)).length, 1);
  });

  test('by the next leader if this one could store its status, but not the event', async (t) => {
    const { address, controller, fail } = await arrange(t);
    const refused = refuseEvents(t);
    await fail();
    await untilStatus(address, { rollout: { phase: 'Stopped' } });
    await until(() => refused.client !== undefined, { describe: 'an attempt to store the event' });
    await patchResource(address, { spec: { paused: true } });
    await untilGatewaySync(
      address,
      'a later status',
      ({ spec, metadata, status }) => spec.paused === true && status?.observedGeneration === metadata.generation,
    );
    await controller.stop();
    await startController(t, address.namespace);
    assert.equal((await untilStopped(address)).length, 1);
  });
});
