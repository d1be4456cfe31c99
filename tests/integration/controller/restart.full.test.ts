import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi } from '../../support/cluster.ts';
import { gatewayPod } from '../../support/gateway-pods.ts';
import { applyGatewaySync } from '../../support/gateway-syncs.ts';
import { startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';
import { type Pod, sidecarOf, startInjection } from './injection-world.ts';

/** A ReplicaSet with one gateway. */
function replicaSet(namespace: string, name: string) {
  const { metadata, spec } = gatewayPod('', '');
  const labels = { app: name };
  const template = { metadata: { annotations: metadata.annotations, labels }, spec };
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name, namespace },
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  };
}

const DOWN_MS = 3_000;

test('a ReplicaSet creates its pod soon after the controller is back, with the sidecar', async (t) => {
  const { namespace, controller, port } = await startInjection(t);
  await applyGatewaySync({ namespace, name: 'app' }, { repo: 'http://127.0.0.1:1/app.git' });
  const podOf = async (app: string) => {
    const query = { labelSelector: `app=${app}` };
    return (await callApi<{ items: Pod[] }>({ path: corePath('pods', namespace), query })).items[0];
  };
  const create = async (name: string) => {
    const started = performance.now();
    await apply(replicaSet(namespace, name));
    const pod = await until(() => podOf(name), { describe: `the pod of ${name}`, interval: 50 });
    assert.ok(pod && sidecarOf(pod));
    return performance.now() - started;
  };
  const usualMs = await create('before');

  await controller.stop();
  const stopped = performance.now();
  const creating = create('during');
  await sleep(DOWN_MS);
  assert.equal(await podOf('during'), undefined);
  await startController(t, namespace, {
    WEBHOOK_PORT: String(port),
    WEBHOOK_SELF_SIGNED: namespace,
    DEFAULT_AGENT_IMAGE: 'agent:of-the-next',
  });
  const downMs = performance.now() - stopped;
  const lateMs = (await creating) - usualMs;
  t.diagnostic(`usual ${Math.round(usualMs)} ms, down for ${Math.round(downMs)} ms, late by ${Math.round(lateMs)} ms`);
  // The delays between its attempts double, so the next one follows within twice the time. It may be slower than usual.
  assert.ok(lateMs < 2 * downMs + 1_000 + 5 * usualMs, `${lateMs} ms`);
});
