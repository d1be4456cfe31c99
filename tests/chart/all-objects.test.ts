import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { slow } from '../support/depth.ts';
import { type Rendered, render } from './support/render.ts';

const hosts = [{ host: '22', paths: [{ path: '/webhook', pathType: 'Prefix' }] }];

/** Everything that the chart can make. */
const everything = {
  certManager: { enabled: false },
  replicaCount: 2,
  githubApp: { enabled: true },
  serviceMonitor: { enabled: true, tokenSecret: { create: true } },
  podMonitor: { enabled: true },
  prometheusRule: { enabled: true },
  grafanaDashboard: { enabled: true },
  networkPolicy: { enabled: true },
  webhookReceiver: {
    enabled: true,
    hmac: { secret: 'x' },
    token: { secret: 'x' },
    ingress: { enabled: true, hosts },
    httpRoute: { enabled: true, parentRefs: [{ name: 'public' }] },
    networkPolicy: { enabled: true },
    autoscaling: { enabled: true },
    resources: { requests: { cpu: '100m' } },
  },
};
const kindsOf = (objects: Rendered[]) => [...new Set(objects.map(({ kind }) => kind))].sort();

suite('all objects of the chart', { concurrency: true }, () => {
  test("all objects are in the namespace of namespaceOverride instead of the release's", slow, async () => {
    const given = { ...everything, namespaceOverride: 'elsewhere' };
    for (const certManager of [{ enabled: true }, { enabled: false }]) {
      const objects = await render({ ...given, certManager }, { namespace: 'of-the-release' });
      for (const object of objects) {
        assert.ok(!JSON.stringify(object).includes('of-the-release'), `${object.kind} ${object.metadata.name}`);
      }
      const places = new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []));
      assert.deepEqual([...places], ['elsewhere']);
    }
  });

  /** Yields all fields of an object that contain names. */
  function* namesIn(value: unknown, place = ''): Generator<[place: string, name: unknown]> {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, child] of Object.entries(value)) {
      const isName = /^((ingress|priority)Class|serviceAccount|secret)?[nN]ame$|^(namespace|key)$/.test(key);
      if (isName && typeof child !== 'object') yield [`${place}.${key}`, child];
      else yield* namesIn(child, `${place}.${key}`);
    }
  }

  test('names that look like numbers in YAML stay strings', async () => {
    const objects = await render({
      ...everything,
      namespaceOverride: '0042',
      controller: { watchNamespaces: ['1e3', '4711'] },
      priorityClassName: '10',
      serviceAccount: { name: '11' },
      serviceMonitor: { enabled: true, namespace: '12', tokenSecret: { create: true, name: '13', key: '21' } },
      grafanaDashboard: { enabled: true, namespace: '14' },
      webhookReceiver: {
        ...everything.webhookReceiver,
        serviceAccount: { name: '15' },
        hmac: { secretRef: { name: '16', key: '17' } },
        token: { secret: 'x', secretRef: { key: '18' } },
        tls: { secretName: '19' },
        ingress: { enabled: true, hosts, ingressClassName: '20' },
      },
    });
    for (const object of objects.filter(({ kind }) => kind !== 'CustomResourceDefinition')) {
      for (const [place, name] of namesIn(object))
        assert.equal(typeof name, 'string', `${object.kind}${place}: ${name}`);
    }
    const places = new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []));
    assert.deepEqual([...places].sort(), ['0042', '12', '14', '1e3', '4711']);
  });

  test('common labels are on all objects and pods, and in no selector', async () => {
    const label = { 'cost-centre': 'plant' };
    const objects = await render({ ...everything, commonLabels: label });
    assert.ok(kindsOf(objects).length > 20, kindsOf(objects).join());
    for (const { kind, metadata, spec } of objects) {
      assert.equal(metadata.labels?.['cost-centre'], 'plant', `${kind} ${metadata.name}`);
      if (spec?.template) assert.equal(spec.template.metadata.labels['cost-centre'], 'plant', metadata.name);
      const selectors = [spec?.selector, spec?.podSelector, spec?.template?.spec.topologySpreadConstraints];
      assert.ok(!JSON.stringify(selectors).includes('cost-centre'), `${kind} ${metadata.name}`);
    }
  });

  test('labels in the values never replace a label that a selector uses', async () => {
    const own = { 'app.kubernetes.io/component': 'mine', 'app.kubernetes.io/instance': 'mine' };
    const monitors = ['serviceMonitor', 'podMonitor', 'prometheusRule'];
    const labelled = Object.fromEntries(monitors.map((monitor) => [`${monitor}.labels`, own]));
    const objects = await render({ ...everything, ...labelled, commonLabels: own });
    for (const { kind, metadata } of objects) {
      assert.equal(metadata.labels?.['app.kubernetes.io/instance'], 'test', `${kind} ${metadata.name}`);
      assert.notEqual(metadata.labels?.['app.kubernetes.io/component'], 'mine', `${kind} ${metadata.name}`);
    }
  });

  test('extra objects can be text or objects, and both can be templates', async () => {
    const metadata = {
      name: '{{ include "stoker-operator.fullname" . }}-quota',
      namespace: '{{ .Release.Namespace }}',
    };
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard: { pods: '20' } } };
    const limits = 'apiVersion: v1\nkind: LimitRange\nmetadata:\n  name: {{ .Values.image.pullPolicy | lower }}\n';
    const objects = await render({ extraObjects: [quota, limits] });
    const [first, second] = objects.filter(({ kind }) => ['ResourceQuota', 'LimitRange'].includes(kind));
    const found = [first, second].sort((a, b) => (a?.kind ?? '').localeCompare(b?.kind ?? ''));
    assert.equal(found[0]?.metadata.name, 'ifnotpresent');
    assert.deepEqual(found[1]?.metadata, { name: 'test-stoker-operator-quota', namespace: 'operator' });
    assert.deepEqual(found[1]?.spec, { hard: { pods: '20' } });
  });
});
