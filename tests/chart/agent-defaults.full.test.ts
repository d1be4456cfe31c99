import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPod, sidecarOf, startInjection } from '../integration/controller/injection-world.ts';
import { gatewayPod } from '../support/gateway-pods.ts';
import { applyGatewaySync } from '../support/gateway-syncs.ts';
import { environmentOf, pick, render } from './support/render.ts';

const git = { repo: 'http://127.0.0.1:1/app.git' };

/** Returns the variables with the defaults of all sidecars, which the chart sets for the controller. */
async function defaultsOf(values: object): Promise<Record<string, string>> {
  const { AGENT_LOG_LEVEL = '', AGENT_RESOURCES = '' } = environmentOf(pick(await render(values), 'Deployment'));
  return { AGENT_LOG_LEVEL, AGENT_RESOURCES };
}

test('all sidecars get the log level and the resources in the values, unless their GatewaySync has its own', async (t) => {
  const resources = { requests: { cpu: '25m', memory: '48Mi' }, limits: { memory: '160Mi' } };
  const environment = await defaultsOf({ agent: { logLevel: 'debug', resources } });
  const { namespace } = await startInjection(t, { environment });
  await applyGatewaySync({ namespace, name: 'app' }, git);
  const sidecar = sidecarOf(await createPod(gatewayPod(namespace, 'gateway')));
  assert.deepEqual(sidecar.resources, resources);
  assert.equal(sidecar.env.find(({ name }) => name === 'LOG_LEVEL')?.value, 'debug');

  const own = { limits: { memory: '512Mi' }, requests: { memory: '512Mi' } };
  await applyGatewaySync({ namespace, name: 'own' }, git, { agent: { resources: own } });
  const exception = sidecarOf(await createPod(gatewayPod(namespace, 'other', { 'sync.io/cr-name': 'own' })));
  assert.deepEqual(exception.resources, own);
});

test('all sidecars get the CAs in the values, from an optional ConfigMap in their own namespace', async (t) => {
  const values = { agent: { caConfigMap: { name: 'company-ca', key: 'bundle.pem' } } };
  const { AGENT_CA_CONFIG_MAP = '' } = environmentOf(pick(await render(values), 'Deployment'));
  const { namespace } = await startInjection(t, { environment: { AGENT_CA_CONFIG_MAP } });
  await applyGatewaySync({ namespace, name: 'app' }, git);
  const pod = await createPod(gatewayPod(namespace, 'gateway'));
  const sidecar = sidecarOf(pod);
  const volume = pod.spec.volumes?.find(({ configMap }) => configMap?.name === 'company-ca');
  assert.deepEqual(volume?.configMap, {
    defaultMode: 0o644,
    name: 'company-ca',
    items: [{ key: 'bundle.pem', path: 'ca.crt' }],
    optional: true,
  });
  const mount = sidecar.volumeMounts.find(({ name }) => name === volume?.name);
  assert.equal(mount?.readOnly, true);
  assert.equal(sidecar.env.find(({ name }) => name === 'GIT_EXTRA_CA_FILE')?.value, `${mount?.mountPath}/ca.crt`);
});

test('the chart has the same defaults as the controller', async (t) => {
  const { namespace } = await startInjection(t);
  await applyGatewaySync({ namespace, name: 'app' }, git);
  const sidecar = sidecarOf(await createPod(gatewayPod(namespace, 'gateway')));
  const { AGENT_LOG_LEVEL, AGENT_RESOURCES } = await defaultsOf({});
  assert.deepEqual(JSON.parse(AGENT_RESOURCES ?? ''), sidecar.resources);
  assert.equal(sidecar.env.find(({ name }) => name === 'LOG_LEVEL')?.value, AGENT_LOG_LEVEL);
});
