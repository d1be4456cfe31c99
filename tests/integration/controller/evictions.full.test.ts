import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, kubectl, mergePatch } from '../../support/cluster.ts';
import { gatewayPod } from '../../support/gateway-pods.ts';
import { applyGatewaySync } from '../../support/gateway-syncs.ts';
import { until } from '../../support/until.ts';
import { untilWebhookWorks } from '../../support/webhook-configuration.ts';
import { createPod, type Pod, startInjection } from './injection-world.ts';

interface Event {
  reason: string;
  involvedObject: { kind: string; name: string };
}

const deployment = (namespace: string, name: string, annotations: Record<string, string> = {}) => {
  const { metadata, spec } = gatewayPod('', '', annotations);
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: labels },
      replicas: 1,
      template: { metadata: { annotations: metadata.annotations, labels }, spec },
    },
  };
};

const hasSidecar = ({ spec }: Pod) => spec.initContainers?.some(({ name }) => name === 'sync-agent') ?? false;

/** A controller with evictions, and a webhook that can be disabled. */
async function arrange(t: TestContext) {
  const { namespace, controller } = await startInjection(t, { environment: { WEBHOOK_EVICT_PODS: 'true' } });
  const select = (labels: object) =>
    kubectl(
      ...['patch', 'mutatingwebhookconfiguration', namespace, '--type=json', '--patch'],
      JSON.stringify([{ op: 'replace', path: '/webhooks/0/namespaceSelector', value: { matchLabels: labels } }]),
    );
  const webhook = {
    off: async () => {
      await select({ 'kubernetes.io/metadata.name': 'elsewhere' });
      const probe = { method: 'POST', query: { dryRun: 'All' }, body: gatewayPod(namespace, 'probe') } as const;
      await until(() => callApi<Pod>({ path: corePath('pods', namespace), ...probe }).catch(() => undefined), {
        describe: 'a pod without the sidecar',
        accept: (pod) => pod !== undefined && !hasSidecar(pod),
      });
    },
    on: async () => {
      await select({ 'kubernetes.io/metadata.name': namespace });
      await untilWebhookWorks(namespace);
    },
  };
  const pods = async () => (await callApi<{ items: Pod[] }>({ path: corePath('pods', namespace) })).items;
  const podOf = async (app: string) => (await pods()).find(({ metadata }) => metadata.labels?.app === app);
  const untilPodOf = (app: string, accept: (pod: Pod | undefined) => boolean, timeout = 60_000) =>
    until(() => podOf(app), { describe: `the pod of ${app}`, accept, timeout });
  const evictions = async () => {
    const { items } = await callApi<{ items: Event[] }>({ path: corePath('events', namespace) });
    return items.filter(({ reason }) => reason === 'EvictedWithoutSidecar').map((event) => event.involvedObject);
  };
  return { namespace, controller, webhook, pods, untilPodOf, evictions };
}

const git = { repo: 'http://127.0.0.1:1/app.git' };

suite('pods that were created without the sidecar', { concurrency: 2 }, () => {
  test('are evicted if they have an owner, and recreated with it', async (t) => {
    const { namespace, controller, webhook, pods, untilPodOf, evictions } = await arrange(t);
    await webhook.off();
    await createPod(gatewayPod(namespace, 'bare'));
    await apply(deployment(namespace, 'owned'));
    await apply(deployment(namespace, 'denied', { 'sync.io/profile': 'none' }));
    const before = await untilPodOf('owned', (pod) => pod !== undefined);
    await untilPodOf('denied', (pod) => pod !== undefined);
    await webhook.on();
    await applyGatewaySync({ namespace, name: 'app' }, git);
    const after = await untilPodOf('owned', (pod) => pod !== undefined && hasSidecar(pod));
    assert.notEqual(after?.metadata.name, before?.metadata.name);
    await controller.waitForLog(/"pod":"denied-[^"]+".*its replacement would not get the sidecar/);
    assert.deepEqual(
      (await pods()).flatMap((pod) => (hasSidecar(pod) ? [] : [pod.metadata.labels?.app ?? pod.metadata.name])).sort(),
      ['bare', 'denied'],
    );
    const events = await until(evictions, { describe: 'the event', accept: ({ length }) => length > 0 });
    assert.deepEqual(
      events.map(({ kind, name }) => `${kind} ${name}`),
      [`Pod ${before?.metadata.name}`],
    );
  });

  test('stay if a PodDisruptionBudget protects them', async (t) => {
    const { namespace, controller, webhook, untilPodOf, evictions } = await arrange(t);
    await webhook.off();
    for (const name of ['kept', 'other']) await apply(deployment(namespace, name));
    const kept = await untilPodOf('kept', (pod) => pod !== undefined);
    await untilPodOf('other', (pod) => pod !== undefined);
    const name = kept?.metadata.name ?? '';
    await mergePatch(`${corePath('pods', namespace, name)}/status`, { status: { phase: 'Running' } });
    const spec = { minAvailable: 1, selector: { matchLabels: { app: 'kept' } } };
    await apply({ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'kept', namespace }, spec });
    await webhook.on();
    await applyGatewaySync({ namespace, name: 'app' }, git);
    await untilPodOf('other', (pod) => pod !== undefined && hasSidecar(pod));
    await untilPodOf('kept', (pod) => pod?.metadata.name === name && !hasSidecar(pod));
    assert.ok((await evictions()).every((about) => about.name !== name));
    assert.doesNotMatch(controller.output, /pod not evicted"/);
  });
});
