import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { createNamespace } from '../support/cluster.ts';
import { applyGatewaySync, untilGatewaySync } from '../support/gateway-syncs.ts';
import { gitServerFor } from '../support/git-server-for.ts';
import { startController } from '../support/start-controller.ts';
import { buildEngines, skipWithoutGo } from './engines.ts';

test('kstatus reports a GatewaySync as Current only when the controller has seen its current generation', {
  skip: skipWithoutGo,
}, async (t) => {
  const engines = await buildEngines();
  t.after(engines.remove);
  const verdictOn = async (gatewaySync: GatewaySync) =>
    (await engines.run<{ status: string }>('kstatus', gatewaySync)).status;
  const server = await gitServerFor(t);
  const repository = await server.createRepository('app');
  await repository.commit({ files: { 'config/a': '1' } });
  const address = { namespace: await createNamespace(t), name: 'app' };
  const stored = () => untilGatewaySync(address, 'stored', () => true);

  await applyGatewaySync(address, { repo: repository.url });
  assert.equal(await verdictOn(await stored()), 'InProgress', 'no controller runs');
  const controller = await startController(t, address.namespace);
  const isReady = ({ metadata, status }: GatewaySync) =>
    status?.observedGeneration === metadata.generation &&
    status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
  assert.equal(await verdictOn(await untilGatewaySync(address, 'ready', isReady)), 'Current');
  await controller.stop();
  await applyGatewaySync(address, { repo: repository.url, ref: 'v9' });
  assert.equal(await verdictOn(await stored()), 'InProgress', 'no controller has seen the edit');
  await startController(t, address.namespace);
  const isRefused = ({ status }: GatewaySync) => status?.conditions?.some(({ reason }) => reason === 'RefNotFound');
  const refused = await untilGatewaySync(address, 'refused', (gatewaySync) => isRefused(gatewaySync) === true);
  assert.notEqual(await verdictOn(refused), 'Current');
});
