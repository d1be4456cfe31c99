import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPod, sidecarOf, startInjection } from '../integration/controller/injection-world.ts';
import { gatewayPod } from '../support/gateway-pods.ts';
import { applyGatewaySync } from '../support/gateway-syncs.ts';
import { environmentOf, pick, render } from './support/render.ts';

test('the chart has the same defaults for agents as the controller', async (t) => {
  const { namespace } = await startInjection(t);
  await applyGatewaySync({ namespace, name: 'app' }, { repo: 'http://127.0.0.1:1/app.git' });
  const sidecar = sidecarOf(await createPod(gatewayPod(namespace, 'gateway')));
  const { AGENT_LOG_LEVEL, AGENT_RESOURCES } = environmentOf(pick(await render(), 'Deployment'));
  assert.deepEqual(JSON.parse(AGENT_RESOURCES ?? ''), sidecar.resources);
  assert.equal(sidecar.env.find(({ name }) => name === 'LOG_LEVEL')?.value, AGENT_LOG_LEVEL);
});
