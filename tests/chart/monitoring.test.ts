import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { apply, createNamespace, kubectl } from '../support/cluster.ts';
import { until } from '../support/until.ts';
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

suite('the ServiceMonitor', { concurrency: true }, () => {
  const values = { serviceMonitor: { enabled: true }, webhookReceiver: { enabled: true } };

  test('of the controller selects only its metrics Service', async () => {
    const objects = await render(values);
    const monitor = pick(objects, 'ServiceMonitor', '-operator');
    const found = services(objects).filter((service) => findsPort(monitor, service));
    assert.deepEqual(namesOf(found), ['test-stoker-operator-metrics']);
    // A metric of a GatewaySync has its own label namespace.
    assert.equal(monitor.spec.endpoints[0].honorLabels, true);
  });

  test('scrapes an endpoint whose certificate has the names of that Service', async () => {
    const objects = await render(values);
    const { name, namespace } = pick(objects, 'Service', '-operator-metrics').metadata;
    const { env } = pick(objects, 'Deployment', '-operator').spec.template.spec.containers[0];
    assert.equal(
      env.find((variable: { name: string }) => variable.name === 'METRICS_HOSTS').value,
      `${name}.${namespace}.svc,${name}.${namespace}.svc.cluster.local`,
    );
  });

  test('of the receiver selects only its metrics Service, which leads to the port of its pods', async () => {
    const objects = await render(values);
    const monitor = pick(objects, 'ServiceMonitor', '-receiver');
    const found = services(objects).filter((service) => findsPort(monitor, service));
    assert.deepEqual(namesOf(found), ['test-stoker-operator-receiver-metrics']);
    const { metadata, spec } = pick(objects, 'Deployment', '-receiver').spec.template;
    for (const [key, value] of Object.entries(found[0]?.spec.selector)) assert.equal(metadata.labels[key], value, key);
    const ports = spec.containers[0].ports.map(({ name }: { name: string }) => name);
    assert.ok(ports.includes(found[0]?.spec.ports[0].targetPort));
  });

  test('exists only for programs that are installed', async () => {
    const monitors = async (given: object) =>
      namesOf((await render({ ...values, ...given })).filter(({ kind }) => kind === 'ServiceMonitor'));
    assert.deepEqual(await monitors({ webhookReceiver: { enabled: false } }), ['test-stoker-operator']);
    assert.deepEqual(await monitors({ serviceMonitor: { enabled: false } }), []);
  });
});

suite('the PodMonitor', () => {
  test("selects the sidecar's port in all namespaces, or in those that are watched", async () => {
    const anywhere = pick(await render({ podMonitor: { enabled: true } }), 'PodMonitor').spec;
    assert.deepEqual(anywhere.selector, { matchLabels: { 'sync.io/agent': 'true' } });
    assert.equal(anywhere.podMetricsEndpoints[0].port, 'sync-metrics');
    assert.deepEqual(anywhere.namespaceSelector, { any: true });
    const controller = { watchNamespaces: ['a', 'b'] };
    const some = pick(await render({ podMonitor: { enabled: true }, controller }), 'PodMonitor').spec;
    assert.deepEqual(some.namespaceSelector, { matchNames: ['a', 'b'] });
  });
});

suite("a Prometheus that can't use its own token in a ServiceMonitor", () => {
  test('reads the metrics with the token of an account that has no other permission', async (t) => {
    const namespace = await createNamespace(t);
    const serviceMonitor = { enabled: true, tokenSecret: { create: true } };
    const objects = await render({ fullnameOverride: namespace, serviceMonitor }, { namespace });
    const monitor = pick(objects, 'ServiceMonitor');
    const [{ authorization, bearerTokenFile }] = monitor.spec.endpoints;
    assert.equal(bearerTokenFile, undefined);
    const { name, key } = authorization.credentials;
    assert.equal(pick(objects, 'Secret', name).metadata.namespace, monitor.metadata.namespace);
    await apply(objects.filter(({ metadata }) => metadata.name.startsWith(`${namespace}-metrics-reader`)));
    t.after(() => kubectl('delete', `clusterrole/${namespace}-metrics-reader`, `clusterrolebinding/${name}`));

    const token = await until(
      () => kubectl('get', 'secret', name, `--namespace=${namespace}`, `--output=jsonpath={.data.${key}}`),
      { describe: 'a token in the Secret', accept: Boolean },
    );
    const asReader = (...args: string[]) =>
      kubectl('auth', ...args, `--namespace=${namespace}`, `--token=${Buffer.from(token, 'base64')}`);
    const username = await asReader('whoami', '--output=jsonpath={.status.userInfo.username}');
    assert.equal(username, `system:serviceaccount:${namespace}:${name}`);
    const permissions = await asReader('can-i', '--list');
    assert.match(permissions, / \[\/metrics\] +\[\] +\[get\]/);
    assert.doesNotMatch(permissions, /logs|secrets|gatewaysyncs/);
  });
});

suite('the chart', { concurrency: true }, () => {
  test("monitors in another namespace select the release's Services, and their token is in that namespace", async () => {
    const serviceMonitor = { enabled: true, namespace: 'prometheus', tokenSecret: { create: true } };
    const objects = await render({ serviceMonitor, webhookReceiver: { enabled: true } });
    for (const { metadata, spec } of objects.filter(({ kind }) => kind === 'ServiceMonitor')) {
      assert.equal(metadata.namespace, 'prometheus');
      assert.deepEqual(spec.namespaceSelector, { matchNames: ['operator'] });
    }
    const { name } = pick(objects, 'Secret').metadata;
    assert.equal(pick(objects, 'Secret').metadata.namespace, 'prometheus');
    assert.equal(pick(objects, 'ServiceAccount', name).metadata.namespace, 'prometheus');
    assert.equal(pick(objects, 'ClusterRoleBinding', name).subjects[0].namespace, 'prometheus');
  });

  test('the NetworkPolicy of the receiver admits senders, Prometheus, and the kubelet, each on its own port', async () => {
    const from = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }];
    const metricsFrom = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }];
    const policyOf = async (networkPolicy: object, webhookReceiver: object = {}) => {
      const values = { enabled: true, networkPolicy: { enabled: true, ...networkPolicy }, ...webhookReceiver };
      return pick(await render({ webhookReceiver: values, networkPolicy: { metricsFrom } }), 'NetworkPolicy').spec;
    };
    const walled = await policyOf({ from });
    assert.equal(walled.podSelector.matchLabels['app.kubernetes.io/component'], 'receiver');
    assert.deepEqual(walled.policyTypes, ['Ingress']);
    assert.deepEqual(walled.ingress, [
      { ports: [{ port: 'http' }], from },
      { ports: [{ port: 'metrics' }], from: metricsFrom },
      { ports: [{ port: 'health' }] },
    ]);
    const open = await policyOf({}, { tls: { secretName: 'tls' } });
    assert.deepEqual(open.ingress[0], { ports: [{ port: 'https' }] });
    const egress = [{ to: [{ ipBlock: { cidr: '192.0.2.10/32' } }], ports: [{ port: 6443 }] }];
    const outward = await policyOf({ egress });
    assert.deepEqual(outward.policyTypes, ['Ingress', 'Egress']);
    assert.deepEqual(outward.egress, egress);
  });

  test("the NetworkPolicy of the controller admits the webhook and the probes, and doesn't apply to the receiver", async () => {
    const objects = await render({ networkPolicy: { enabled: true }, webhookReceiver: { enabled: true } });
    const { podSelector, ingress } = pick(objects, 'NetworkPolicy').spec;
    const open = ingress.filter(({ from }: { from?: unknown }) => !from);
    assert.deepEqual(open, [{ ports: [{ port: 'webhook' }] }, { ports: [{ port: 'health' }] }]);
    assert.equal(podSelector.matchLabels['app.kubernetes.io/component'], 'controller');
  });

  test('the NetworkPolicy admits only the specified API servers to the webhook, and changes no other rule', async () => {
    const webhookFrom = [{ ipBlock: { cidr: '192.0.2.10/32' } }];
    const policyOf = async (values: object) =>
      pick(await render({ networkPolicy: { enabled: true, webhookFrom }, ...values }), 'NetworkPolicy').spec.ingress;
    const [, ...ports] = await policyOf({});
    assert.deepEqual(ports, [{ ports: [{ port: 'webhook' }], from: webhookFrom }, { ports: [{ port: 'health' }] }]);
    const [, ...without] = await policyOf({ webhook: { enabled: false } });
    assert.deepEqual(without, [{ ports: [{ port: 'health' }] }]);
  });
});
