import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Rendered, render } from './support/render.ts';

/** Everything that the chart can make. */
const everything = {
  certManager: { enabled: false },
  replicaCount: 2,
  githubApp: { enabled: true },
  rollout: { approverRole: { enabled: true } },
  serviceMonitor: { enabled: true, tokenSecret: { create: true } },
  podMonitor: { enabled: true },
  prometheusRule: { enabled: true },
  grafanaDashboard: { enabled: true },
  networkPolicy: { enabled: true },
  webhookReceiver: {
    enabled: true,
    hmac: { secret: 'x' },
    token: { secret: 'x' },
    ingress: { enabled: true },
    httpRoute: { enabled: true, parentRefs: [{ name: 'public' }] },
    networkPolicy: { enabled: true },
    autoscaling: { enabled: true },
    resources: { requests: { cpu: '100m' } },
  },
};
const kindsOf = (objects: Rendered[]) => [...new Set(objects.map(({ kind }) => kind))].sort();

test('another namespace than that of the release is meant everywhere', async () => {
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

test('common labels are on every object and every pod, and in no selector', async () => {
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

test('no label of the values takes the place of one by which an object is found', async () => {
  const own = { 'app.kubernetes.io/component': 'mine', 'app.kubernetes.io/instance': 'mine' };
  const monitors = ['serviceMonitor', 'podMonitor', 'prometheusRule'];
  const labelled = Object.fromEntries(monitors.map((monitor) => [`${monitor}.labels`, own]));
  const objects = await render({ ...everything, ...labelled, commonLabels: own });
  for (const { kind, metadata } of objects) {
    assert.equal(metadata.labels?.['app.kubernetes.io/instance'], 'test', `${kind} ${metadata.name}`);
    assert.notEqual(metadata.labels?.['app.kubernetes.io/component'], 'mine', `${kind} ${metadata.name}`);
  }
});

/** https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#resource-exclusioninclusion. */
const EXCLUDED = ['Endpoints', 'EndpointSlice', 'Lease', 'CertificateSigningRequest', 'CertificateRequest'];

test('the chart has no object that Argo CD leaves out and warns of', async () => {
  const kinds = kindsOf(await render(everything));
  assert.deepEqual(
    kinds.filter((kind) => EXCLUDED.includes(kind)),
    [],
  );
});

test('further objects may be text or objects, and both are templates', async () => {
  const metadata = { name: '{{ include "stoker-operator.fullname" . }}-quota', namespace: '{{ .Release.Namespace }}' };
  const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard: { pods: '20' } } };
  const limits = 'apiVersion: v1\nkind: LimitRange\nmetadata:\n  name: {{ .Values.image.pullPolicy | lower }}\n';
  const objects = await render({ extraObjects: [quota, limits] });
  const [first, second] = objects.filter(({ kind }) => ['ResourceQuota', 'LimitRange'].includes(kind));
  const found = [first, second].sort((a, b) => (a?.kind ?? '').localeCompare(b?.kind ?? ''));
  assert.equal(found[0]?.metadata.name, 'ifnotpresent');
  assert.deepEqual(found[1]?.metadata, { name: 'test-stoker-operator-quota', namespace: 'operator' });
  assert.deepEqual(found[1]?.spec, { hard: { pods: '20' } });
});
