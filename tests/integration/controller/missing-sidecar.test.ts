import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { corePath, groupPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi, createNamespace, kubectl, mergePatch } from '../../support/cluster.ts';
import { gatewayPod, report } from '../../support/gateway-pods.ts';
import { applyGatewaySync, condition, push, untilCondition, untilStatus } from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';
import { createPod } from './injection-world.ts';

async function events(namespace: string, reason: string): Promise<{ note: string }[]> {
  const path = groupPath('events.k8s.io/v1', 'events', namespace);
  const query = { fieldSelector: `reason=${reason}` };
  return (await callApi<{ items: { note: string }[] }>({ path, query })).items;
}

const untilEvents = (namespace: string, reason: string, count: number) =>
  until(() => events(namespace, reason), { describe: `${count} ${reason}`, accept: ({ length }) => length === count });

async function gauge(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^sync_controller_pods_missing_sidecar (\d+)$/m.exec(text)?.[1]);
}

const gatewaysOf = ({ status }: GatewaySync) =>
  status?.discoveredGateways?.map(({ podName, syncStatus }) => `${podName} ${syncStatus}`);

async function arrange(t: TestContext, ref = 'main') {
  const { repository } = await serveRepository(t);
  const address = { namespace: await createNamespace(t), name: 'app' };
  await applyGatewaySync(address, { repo: repository.url, ref });
  return { address, repository };
}

suite('a pod that was created while the webhook was unavailable', () => {
  test('shows in the status, in one event, and in a metric', async (t) => {
    const { address, repository } = await arrange(t);
    const { namespace } = address;
    for (const name of ['slipped-0', 'slipped-1', 'ended']) await createPod(gatewayPod(namespace, name));
    await createPod(gatewayPod(namespace, 'asks-for-nothing', { 'sync.io/inject': 'false' }));
    await mergePatch(`${corePath('pods', namespace, 'ended')}/status`, { status: { phase: 'Succeeded' } });
    const metricsPort = await freePort();
    await startController(t, namespace, { METRICS_PORT: String(metricsPort), METRICS_SECURE: 'false' });
    const stored = await untilStatus(address, { gateways: { missingSidecar: 2 } });
    assert.deepEqual(gatewaysOf(stored), ['slipped-0 MissingSidecar', 'slipped-1 MissingSidecar']);
    const injected = await untilCondition(address, 'SidecarInjected', 'False');
    assert.equal(condition(injected, 'SidecarInjected')?.reason, 'MissingSidecar');
    assert.equal(await gauge(metricsPort), 2);
    await untilEvents(namespace, 'MissingSidecar', 1);
    await repository.commit({ files: { 'config/a': '2' } });
    await push(address, 'main');
    await untilStatus(address, { lastPush: { outcome: 'Applied' } });
    await untilEvents(namespace, 'RefResolved', 2);
    assert.equal((await events(namespace, 'MissingSidecar')).length, 1);
  });
});

suite('a pod with the labels of an injected one, but no sidecar,', () => {
  const marks = { labels: { 'sync.io/agent': 'true' }, annotations: { 'sync.io/injected': 'true' } };

  test('shows as MissingSidecar, whatever it reports, and its account gets no permissions', async (t) => {
    const { address } = await arrange(t);
    const { namespace, name } = address;
    const cases: [pod: string, annotations: Record<string, string>][] = [
      ['names-it', { 'sync.io/cr-name': name }],
      ['names-none', {}],
      ['asks-for-nothing', { 'sync.io/cr-name': name, 'sync.io/inject': 'false' }],
    ];
    for (const [pod, annotations] of cases) {
      const bare = gatewayPod(namespace, pod, { ...marks.annotations, ...annotations });
      await createPod({ ...bare, metadata: { ...bare.metadata, labels: marks.labels } });
    }
    await report({ namespace, name: 'names-it' }, { state: 'Synced', ref: 'main' });
    const metricsPort = await freePort();
    await startController(t, namespace, { METRICS_PORT: String(metricsPort), METRICS_SECURE: 'false' });
    const shown = await untilStatus(address, { gateways: { missingSidecar: 2 } });
    assert.deepEqual(gatewaysOf(shown), ['names-it MissingSidecar', 'names-none MissingSidecar']);
    assert.equal(await gauge(metricsPort), 2);
    const bindings = await kubectl('get', 'rolebindings', '--namespace', namespace, '--output', 'json');
    for (const { subjects = [] } of JSON.parse(bindings).items) assert.deepEqual(subjects, []);
  });
});
