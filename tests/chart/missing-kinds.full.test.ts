import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../scripts/testbed/control-plane.ts';
import { until } from '../support/until.ts';
import { crdFor, FOREIGN_KINDS } from './support/foreign-kinds.ts';
import { Installation } from './support/installation.ts';
import { chart, helm } from './support/render.ts';

/** Values that need a kind of another operator, by their path without `enabled`. */
const needs: { value: string; kind: string; values: object }[] = [
  { value: 'certManager', kind: 'Certificate', values: {} },
  {
    value: 'serviceMonitor',
    kind: 'ServiceMonitor',
    values: { serviceMonitor: { enabled: true } },
  },
  {
    value: 'podMonitor',
    kind: 'PodMonitor',
    values: { podMonitor: { enabled: true } },
  },
  {
    value: 'prometheusRule',
    kind: 'PrometheusRule',
    values: { prometheusRule: { enabled: true } },
  },
  {
    value: 'webhookReceiver.httpRoute',
    kind: 'HTTPRoute',
    values: {
      webhookReceiver: {
        enabled: true,
        hmac: { secret: 'x' },
        httpRoute: { enabled: true, parentRefs: [{ name: 'public' }] },
      },
    },
  },
];
const withoutCertManager = { certManager: { enabled: false } };

let cluster: ControlPlane;

before(async () => {
  cluster = await startControlPlane();
});

after(() => cluster?.stop());

/** Asserts that helm ends with one sentence on a kind that the cluster doesn't have. */
async function assertMissing(run: Promise<unknown>, value: string, kind: string): Promise<void> {
  await assert.rejects(run, ({ message }: Error) => {
    const sentence = `: ${value}\\.enabled is true, but the cluster has no kind ${kind} \\(\\S+/v1\\); install .+, or set ${value}\\.enabled=false$`;
    assert.match(message.trim(), new RegExp(sentence));
    return true;
  });
}

/** Lists the APIs and kinds of the cluster, as Argo CD passes them to `helm template`. */
async function listApis(): Promise<string[]> {
  const rows = (await cluster.kubectl('api-resources', '--no-headers')).trim().split('\n');
  return rows.flatMap((row) => {
    const [apiVersion, , kind] = row.trim().split(/\s+/).slice(-3);
    return [apiVersion!, `${apiVersion}/${kind}`];
  });
}

/** Installs a CRD for each of the kinds, without a schema, and waits until the API server lists them. */
async function installKinds(): Promise<void> {
  const kinds = Object.entries(FOREIGN_KINDS);
  for (const [kind, group] of kinds) await cluster.kubectlWith(crdFor(kind, group), 'create', '--filename=-');
  await until(listApis, {
    describe: 'the kinds to be listed',
    accept: (apis) => kinds.every(([kind, group]) => apis.includes(`${group}/v1/${kind}`)),
  });
}

/** Makes an account with permission for the objects of the chart, but not to read namespaces or CRDs. Gives its kubeconfig. */
async function createInstaller(namespace: string): Promise<string> {
  const account = { name: 'installer', namespace };
  const groups = ['apps', 'policy', 'admissionregistration.k8s.io', 'rbac.authorization.k8s.io', 'cert-manager.io'];
  const rules = [
    { apiGroups: [''], resources: ['secrets', 'services', 'serviceaccounts'], verbs: ['*'] },
    { apiGroups: groups, resources: ['*'], verbs: ['*'] },
  ];
  const rbac = 'rbac.authorization.k8s.io';
  const items = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
    { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name: namespace }, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: namespace },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: namespace },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    },
  ];
  await cluster.kubectlWith({ apiVersion: 'v1', kind: 'List', items }, 'create', '--filename=-');
  return await cluster.kubeconfigFor({ namespace, serviceAccount: account.name });
}

suite('on a cluster without the kinds of other operators', () => {
  for (const { value, kind, values } of needs) {
    test(`an installation with ${value}.enabled ends with the value to set`, async () => {
      const installation = new Installation(cluster, { release: 'refused', namespace: 'refused' });
      const given = value === 'certManager' ? values : { ...withoutCertManager, ...values };
      await assertMissing(installation.upgrade(chart, given), value, kind);
    });
  }

  test('an upgrade and its dry runs end with the value to set', async (t) => {
    const installation = new Installation(cluster, { release: 'upgraded', namespace: 'upgraded' });
    t.after(() => installation.remove());
    await installation.upgrade(chart, withoutCertManager);
    for (const flags of [[], ['--dry-run=client'], ['--dry-run=server']]) {
      await assertMissing(installation.upgrade(chart, {}, ...flags), 'certManager', 'Certificate');
    }
  });

  test('certManager.enabled needs no Certificate without the admission endpoint', async (t) => {
    const installation = new Installation(cluster, { release: 'polling', namespace: 'polling' });
    t.after(() => installation.remove());
    await installation.upgrade(chart, { webhook: { enabled: false } });
  });

  test('helm template renders all kinds, even with the APIs of the cluster as Argo CD passes them', async () => {
    const flags = needs.flatMap(({ values }) =>
      Object.entries(values).map(([key, value]) => `--set-json=${key}=${JSON.stringify(value)}`),
    );
    const apis = (await listApis()).map((api) => `--api-versions=${api}`);
    assert.ok(apis.includes('--api-versions=v1/Pod'));
    for (const given of [[], apis]) {
      const rendered = await helm('template', 'rendered', chart, ...flags, ...given);
      for (const { kind } of needs) assert.match(rendered, new RegExp(`^kind: ${kind}$`, 'm'));
    }
  });

  test('an installer without permission to read namespaces and CRDs gets the same sentence, and can follow it', async (t) => {
    const namespace = 'restricted';
    const kubeconfig = await createInstaller(namespace);
    for (const resource of ['namespaces', 'customresourcedefinitions']) {
      await assert.rejects(cluster.kubectl('get', resource, `--kubeconfig=${kubeconfig}`), /Forbidden/);
    }
    const own = [`--namespace=${namespace}`, `--kubeconfig=${kubeconfig}`];
    const install = (...flags: string[]) => helm('install', 'own', chart, '--set=crds.install=false', ...own, ...flags);
    t.after(() => helm('uninstall', 'own', ...own));
    await assertMissing(install(), 'certManager', 'Certificate');
    await install('--set=certManager.enabled=false');
  });
});

test('with the kinds in the cluster, the same values are installed', async (t) => {
  await installKinds();
  const installation = new Installation(cluster, { release: 'complete', namespace: 'complete' });
  t.after(() => installation.remove());
  await installation.upgrade(chart, Object.assign({}, ...needs.map(({ values }) => values)));
  const kinds = Object.keys(await installation.snapshot()).map((name) => name.split(' ')[0]);
  for (const { kind } of needs) assert.ok(kinds.includes(kind), kind);
});
