import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { pick, type Rendered, render } from './support/render.ts';

/** Whether a monitor selects a Service, and the port that it names. */
function findsPort(monitor: Rendered, service: Rendered): boolean {
  const labels = service.metadata.labels ?? {};
  return (
    Object.entries(monitor.spec.selector.matchLabels).every(([key, value]) => labels[key] === value) &&
    service.spec.ports.some(({ name }: { name: string }) => name === monitor.spec.endpoints[0].port)
  );
}

const services = (objects: Rendered[]) => objects.filter(({ kind }) => kind === 'Service');
const namesOf = (objects: Rendered[]) => objects.map(({ metadata }) => metadata.name);

suite('the ServiceMonitor', () => {
  const values = { serviceMonitor: { enabled: true }, webhookReceiver: { enabled: true } };

  test('of the controller finds its metrics Service and no other', async () => {
    const objects = await render(values);
    const monitor = pick(objects, 'ServiceMonitor', '-operator');
    const found = services(objects).filter((service) => findsPort(monitor, service));
    assert.deepEqual(namesOf(found), ['test-stoker-operator-metrics']);
    // A metric of a GatewaySync has a label namespace of its own.
    assert.equal(monitor.spec.endpoints[0].honorLabels, true);
  });

  test('reads from an endpoint whose certificate has the names of that Service', async () => {
    const objects = await render(values);
    const { name, namespace } = pick(objects, 'Service', '-operator-metrics').metadata;
    const { env } = pick(objects, 'Deployment', '-operator').spec.template.spec.containers[0];
    assert.equal(
      env.find((variable: { name: string }) => variable.name === 'METRICS_HOSTS').value,
      `${name}.${namespace}.svc,${name}.${namespace}.svc.cluster.local`,
    );
  });

  test('of the receiver finds its metrics Service and no other, which leads to the port of its pods', async () => {
    const objects = await render(values);
    const monitor = pick(objects, 'ServiceMonitor', '-receiver');
    const found = services(objects).filter((service) => findsPort(monitor, service));
    assert.deepEqual(namesOf(found), ['test-stoker-operator-receiver-metrics']);
    const { metadata, spec } = pick(objects, 'Deployment', '-receiver').spec.template;
    for (const [key, value] of Object.entries(found[0]?.spec.selector)) assert.equal(metadata.labels[key], value, key);
    const ports = spec.containers[0].ports.map(({ name }: { name: string }) => name);
    assert.ok(ports.includes(found[0]?.spec.ports[0].targetPort));
  });

  test('is only there for what is installed', async () => {
    const monitors = async (given: object) =>
      namesOf((await render({ ...values, ...given })).filter(({ kind }) => kind === 'ServiceMonitor'));
    assert.deepEqual(await monitors({ webhookReceiver: { enabled: false } }), ['test-stoker-operator']);
    assert.deepEqual(await monitors({ metrics: { enabled: false } }), []);
    assert.deepEqual(await monitors({ serviceMonitor: { enabled: false } }), []);
  });
});

for (const [kind, value, endpoints] of [
  ['ServiceMonitor', 'serviceMonitor', 'endpoints'],
  ['PodMonitor', 'podMonitor', 'podMetricsEndpoints'],
] as const) {
  test(`the labels, interval and timeout of the ${kind} are those of the values, and the defaults of Prometheus without`, async () => {
    const times = { interval: '30s', scrapeTimeout: '10s' };
    const set = pick(await render({ [value]: { enabled: true, labels: { release: 'a' }, ...times } }), kind);
    assert.equal(set.metadata.labels?.release, 'a');
    assert.deepEqual({ ...set.spec[endpoints][0], ...times }, set.spec[endpoints][0]);
    const plain = pick(await render({ [value]: { enabled: true } }), kind);
    for (const time of Object.keys(times)) assert.ok(!(time in plain.spec[endpoints][0]), time);
  });
}

suite('the PodMonitor', () => {
  test('looks for the port of the sidecar in all namespaces, or in those that are watched', async () => {
    const anywhere = pick(await render({ podMonitor: { enabled: true } }), 'PodMonitor').spec;
    assert.deepEqual(anywhere.selector, { matchLabels: { 'sync.io/agent': 'true' } });
    assert.equal(anywhere.podMetricsEndpoints[0].port, 'sync-metrics');
    assert.deepEqual(anywhere.namespaceSelector, { any: true });
    const controller = { watchNamespaces: ['a', 'b'] };
    const some = pick(await render({ podMonitor: { enabled: true }, controller }), 'PodMonitor').spec;
    assert.deepEqual(some.namespaceSelector, { matchNames: ['a', 'b'] });
  });
});

test('the NetworkPolicy leaves the webhook and the probes reachable, and does not touch the receiver', async () => {
  const objects = await render({ networkPolicy: { enabled: true }, webhookReceiver: { enabled: true } });
  const { podSelector, ingress } = pick(objects, 'NetworkPolicy').spec;
  const open = ingress.filter(({ from }: { from?: unknown }) => !from);
  assert.deepEqual(open, [{ ports: [{ port: 'webhook' }, { port: 'health' }] }]);
  assert.equal(podSelector.matchLabels['app.kubernetes.io/component'], 'controller');
});
