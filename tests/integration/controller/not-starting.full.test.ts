import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { corePath, gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, createNamespace, kubectl, mergePatch } from '../../support/cluster.ts';
import { injectedPod, report } from '../../support/gateway-pods.ts';
import { type Address, applyGatewaySync, condition, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';

async function arrange(t: TestContext, spec: object = {}) {
  const { repository, commit } = await serveRepository(t);
  const address = { namespace: await createNamespace(t), name: 'app' };
  await startController(t, address.namespace);
  await applyGatewaySync(address, { repo: repository.url }, spec);
  return { address, commit, repo: repository.url };
}

const createSecret = ({ namespace }: Address, name: string, ...keys: string[]) =>
  kubectl(
    ...['create', 'secret', 'generic', name, '--namespace', namespace],
    ...keys.map((key) => `--from-literal=${key}=do-not-tell`),
  );

const ready = (resource: GatewaySync) => {
  const { status, reason } = condition(resource, 'Ready') ?? {};
  return `${status} ${reason}`;
};

const apiKey = { gateway: { api: { secretName: 'gateway-api' } } };

suite('a missing Secret that the resource names', { concurrency: 3 }, () => {
  test('is reported before there is any pod, in a condition and an event, until it exists', async (t) => {
    const { address } = await arrange(t, apiKey);
    const isMissed = (resource: GatewaySync) => ready(resource) === 'False SecretNotFound';
    const missed = await untilGatewaySync(address, 'missed', isMissed);
    const words = `Secret ${address.namespace}/gateway-api, which the resource names, doesn't exist`;
    assert.ok((condition(missed, 'Ready')?.message ?? '').startsWith(words), 'the words');
    assert.equal(condition(missed, 'AgentAccess')?.reason, 'SecretNotFound');
    const notes = () =>
      kubectl('get', 'events', '--namespace', address.namespace, '--output', 'jsonpath={.items[*].message}');
    await until(notes, { describe: 'an event', accept: (text) => text.includes(words) });
    const managers = await kubectl(
      ...['get', 'events', '--namespace', address.namespace, '--show-managed-fields'],
      ...['--output', 'jsonpath={.items[*].metadata.managedFields[*].manager}'],
    );
    assert.deepEqual(new Set(managers.split(' ')), new Set(['sync-controller']));
    await createSecret(address, 'gateway-api', 'other');
    const hasNoKey = (resource: GatewaySync) => /has no key apiKey/.test(condition(resource, 'Ready')?.message ?? '');
    await untilGatewaySync(address, 'another key', hasNoKey);
    await kubectl('delete', 'secret', 'gateway-api', '--namespace', address.namespace);
    await createSecret(address, 'gateway-api', 'apiKey');
    const found = await untilGatewaySync(address, 'found', (resource) => ready(resource) === 'True NoGateways');
    assert.equal(condition(found, 'AgentAccess')?.status, 'True');
  });

  test('is reported when a pod that needs it comes after it was deleted', async (t) => {
    const { address } = await arrange(t);
    const { namespace, name } = address;
    await createSecret(address, 'gateway-api', 'apiKey');
    await mergePatch(gatewaySyncPath(namespace, name), { spec: apiKey });
    const seen = await untilGatewaySync(address, 'the spec', ({ status }) => status?.observedGeneration === 2);
    assert.equal(ready(seen), 'True NoGateways');
    await mergePatch(corePath('secrets', namespace, 'gateway-api'), { data: { apiKey: null } });
    await apply(injectedPod(namespace, 'late', name));
    await untilGatewaySync(address, 'missed', (resource) => ready(resource) === 'False SecretNotFound');
    // As a client that removes the owners of its fields.
    await kubectl('delete', 'secret', 'gateway-api', '--namespace', namespace);
    await createSecret(address, 'gateway-api', 'apiKey');
    await mergePatch(corePath('secrets', namespace, 'gateway-api'), { metadata: { managedFields: [{}] } });
    await untilGatewaySync(address, 'found', (resource) => ready(resource) === 'Unknown Syncing');
  });
});

suite("a pod that doesn't start", { concurrency: 2 }, () => {
  const setStatus = ({ namespace }: Address, pod: string, status: object) =>
    mergePatch(`${corePath('pods', namespace, pod)}/status`, { status });
  const waiting = (reason: string) => {
    const container = { name: 'sync-agent', image: 'agent:1', imageID: '', ready: false, restartCount: 0 };
    return { initContainerStatuses: [{ ...container, state: { waiting: { reason, message: 'back-off' } } }] };
  };

  test('explains the reason in the list of gateways and in Ready, until it starts', async (t) => {
    const { address, commit } = await arrange(t);
    const { namespace, name } = address;
    for (const pod of ['homeless', 'imageless']) await apply(injectedPod(namespace, pod, name));
    await setStatus(address, 'imageless', waiting('ImagePullBackOff'));
    const message = '0/1 nodes are available';
    await setStatus(address, 'homeless', {
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
    });
    const homeless = 'not scheduled: Unschedulable: 0/1 nodes are available';
    const imageless = 'container sync-agent waits: ImagePullBackOff (agent:1)';
    const messages = ({ status }: GatewaySync) => status?.discoveredGateways?.map((gateway) => gateway.message);
    const reported = await untilGatewaySync(
      address,
      'both',
      (resource) =>
        ready(resource) === 'Unknown Syncing' && isDeepStrictEqual(messages(resource), [homeless, imageless]),
    );
    assert.equal(condition(reported, 'Ready')?.message, `0/2 synced; homeless: ${homeless}; imageless: ${imageless}`);
    await setStatus(address, 'imageless', waiting('PodInitializing'));
    await setStatus(address, 'homeless', { conditions: [{ type: 'PodScheduled', status: 'True' }] });
    for (const pod of ['homeless', 'imageless']) await report({ namespace, name: pod }, { commit, generation: 1 });
    await untilGatewaySync(
      address,
      'started',
      (resource) => ready(resource) === 'True Synced' && isDeepStrictEqual(messages(resource), [undefined, undefined]),
    );
  });
});
