import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { parse as parseYaml } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { renderInstallManifest } from '../../scripts/release/release-files.ts';
import { type ControlPlane, startControlPlane } from '../../scripts/testbed/control-plane.ts';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { startHttpHost } from '../support/http-host.ts';
import { blocksOf, commandsOf, readPages, wordsOf } from '../support/markdown.ts';
import { clusterRoleBinding } from '../support/role-binding.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';
import { clientWith } from './support/client-for.ts';
import { crdFor, FOREIGN_KINDS } from './support/foreign-kinds.ts';
import { Installation } from './support/installation.ts';
import { chart, environmentOf, helm, parse, pick, type Rendered } from './support/render.ts';

const NAMESPACE = 'stoker-system';
const withoutCertManager = { certManager: { enabled: false } };
const CLUSTER_WIDE = [
  ...['clusterrole', 'clusterrolebinding', 'mutatingwebhookconfiguration'],
  ...['validatingadmissionpolicy', 'validatingadmissionpolicybinding'],
];
const applied = ['apply', '--server-side', '--filename=-'];

let cluster: ControlPlane;
let client: KubernetesClient;
let isHelm4: boolean;
/** `install.yaml` of the release. */
let text: string;

before(async () => {
  [text, cluster] = await Promise.all([renderInstallManifest(), startControlPlane()]);
  client = clientWith(cluster.kubeconfig);
  isHelm4 = (await helm('version', '--short')).startsWith('v4');
});
after(() => cluster?.stop());

function installationOf(t: TestContext, release: string, namespace = release): Installation {
  const installation = new Installation(cluster, { release, namespace });
  t.after(async () => {
    await installation.remove();
    // Those that kubectl has applied remain.
    await cluster.kubectl('delete', CLUSTER_WIDE.join(), `--selector=app.kubernetes.io/instance=${release}`);
  });
  return installation;
}

async function readPage(file: string) {
  const page = (await readPages()).find((each) => each.file === file);
  assert.ok(page);
  return page;
}

/** Returns the block of the installation page that begins with a comment. */
async function readBlock(comment: string): Promise<string> {
  const page = await readPage('docs/how-to/installation.md');
  const block = blocksOf(page).find(({ code }) => code.startsWith(comment));
  assert.ok(block);
  return block.code;
}

suite('install.yaml', () => {
  test('has no secrets, and nothing that only an installation with Helm has', () => {
    const objects = parse(text);
    const [namespace, ...others] = objects;
    assert.deepEqual([namespace?.kind, namespace?.metadata.name], ['Namespace', NAMESPACE]);
    const places = new Set(others.map(({ metadata }) => metadata.namespace));
    assert.deepEqual([...places].sort(), [NAMESPACE, undefined]);
    const secret = pick(objects, 'Secret', '-webhook-certificate');
    assert.deepEqual([secret.data, secret.stringData], [undefined, undefined]);
    assert.doesNotMatch(text, /managed-by: Helm|resource-policy|meta\.helm\.sh|cert-manager\.io\//);
    for (const { metadata } of objects.filter(({ kind }) => kind === 'Deployment')) {
      // kubectl stoker doctor finds the programs by this label.
      assert.equal(metadata.labels?.['helm.sh/chart'], `stoker-operator-${manifest.version}`);
    }
    const { volumes } = pick(objects, 'Deployment', '-receiver').spec.template.spec;
    assert.deepEqual(volumes, [{ name: 'hmac', secret: { secretName: 'git-webhook' } }]);
  });

  test('can be applied again without a change, and Helm can take over the installation', async (t) => {
    const installation = installationOf(t, 'stoker-operator', NAMESPACE);
    await cluster.kubectlWith(text, ...applied);
    // As the controller does.
    const merge = [`--namespace=${NAMESPACE}`, '--type=merge', '--patch={"data":{"ca.crt":"Y2E="}}'];
    await cluster.kubectl('patch', 'secret/stoker-operator-webhook-certificate', ...merge);
    const first = await installation.snapshot();
    assert.equal(Object.keys(first).length, parse(text).length - 1, 'all objects but the namespace');
    await cluster.kubectlWith(text, ...applied);
    assert.deepEqual(await installation.snapshot(), first);

    const webhookReceiver = { enabled: true, hmac: { secretRef: { name: 'git-webhook' } } };
    const flags = ['--take-ownership', ...(isHelm4 ? ['--force-conflicts'] : [])];
    await installation.upgrade(chart, { ...withoutCertManager, webhookReceiver }, ...flags);
    const objects = await installation.snapshot();
    const deployment = Object.values(objects).find(({ kind }) => kind === 'Deployment');
    assert.equal(deployment?.metadata.labels?.['app.kubernetes.io/managed-by'], 'Helm');
    assert.deepEqual(objects[`Secret ${NAMESPACE}/stoker-operator-webhook-certificate`]?.data, { 'ca.crt': 'Y2E=' });
  });

  test('is uninstalled by the documented commands, except for the CRDs', async (t) => {
    const installation = installationOf(t, 'stoker-operator', NAMESPACE);
    await cluster.kubectlWith(text, ...applied);
    const page = await readPage('docs/how-to/uninstalling.md');
    const [, section = ''] = page.text.split('\n## Without Helm\n');
    const [roles = '', namespace = ''] = commandsOf({ ...page, text: section });
    assert.equal(namespace, `kubectl delete namespace ${NAMESPACE}`);
    await cluster.kubectl(...wordsOf(roles).slice(1));
    const names = Object.keys(await installation.snapshot());
    assert.deepEqual(
      names.filter((name) => !name.includes(` ${NAMESPACE}/`)),
      ['gatewaysyncs', 'syncreleases', 'syncreports'].map((plural) => `CustomResourceDefinition /${plural}.sync.io`),
    );
  });

  /** Builds a kustomization in which the published address of install.yaml is replaced. */
  async function build(t: TestContext, kustomization: string): Promise<Rendered[]> {
    const host = await startHttpHost(t, (_, response) => response.end(text));
    const published = `https://github.com/stoker-operator/stoker-operator/releases/download/v${manifest.version}/install.yaml`;
    assert.ok(kustomization.includes(published), kustomization);
    const directory = await temporaryDirectory(t, 'install-');
    const local = kustomization.replace(published, `${host}/install.yaml`);
    await writeFile(path.join(directory, 'kustomization.yaml'), local);
    return parse(await cluster.kubectl('kustomize', directory));
  }

  test('is what the kustomization of the repository installs', async (t) => {
    const kustomization = await readFile(path.join(chart, '../install/kustomization.yaml'), 'utf8');
    assert.match(kustomization, new RegExp(`install\\?ref=v${manifest.version}"`));
    const names = (objects: Rendered[]) => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
    assert.deepEqual(names(await build(t, kustomization)), names(parse(text)));
  });

  test('is changed by the documented kustomization', async (t) => {
    const built = await build(t, await readBlock('# kustomization.yaml'));
    const controller = pick(built, 'Deployment', 'stoker-operator');
    const [{ image }] = controller.spec.template.spec.containers;
    const mirror = 'registry.example.com/mirror/stoker-operator';
    assert.deepEqual(
      [controller.spec.replicas, image, environmentOf(controller).DEFAULT_AGENT_IMAGE],
      [2, `${mirror}/controller:${manifest.version}`, `${mirror}/agent:${manifest.version}`],
    );
    await cluster.kubectlWith({ apiVersion: 'v1', kind: 'List', items: built }, ...applied, '--dry-run=server');
  });
});

interface Expression {
  key: string;
  operator: string;
  values?: string[];
}

interface Configuration {
  metadata: { managedFields: { manager: string }[] };
  webhooks: [{ clientConfig: { caBundle?: string }; namespaceSelector: { matchExpressions: Expression[] } }];
}

/** What AKS adds to each webhook: https://github.com/Azure/AKS/issues/4002. */
const ADDED: Expression[] = [
  { key: 'control-plane', operator: 'NotIn', values: ['true'] },
  { key: 'kubernetes.azure.com/managedby', operator: 'NotIn', values: ['aks'] },
];
const CA_BUNDLE = Buffer.from('-----BEGIN CERTIFICATE-----\n').toString('base64');

/** The webhook of an installation, and the clients that write it. */
function webhookOf(name: string) {
  const path = `/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${name}`;
  const read = () => client.getAs<Configuration>(path);
  const add = (manager: string, place: string, values: unknown[]) =>
    client.request({
      method: 'PATCH',
      path,
      body: values.map((value) => ({ op: 'add', path: `/webhooks/0/${place}`, value })),
      contentType: 'application/json-patch+json',
      query: { fieldManager: manager },
    });
  return {
    read,
    /** Adds the expressions that are missing, as AKS does after each change, and the CA, as the controller does. */
    enforce: async () => {
      const present = (await read()).webhooks[0].namespaceSelector.matchExpressions;
      const missing = ADDED.filter((added) => !present.some(({ key }) => key === added.key));
      await add('admissionsenforcer', 'namespaceSelector/matchExpressions/-', missing);
      await add(FIELD_MANAGERS.controller, 'clientConfig/caBundle', [CA_BUNDLE]);
    },
  };
}

suite('on AKS, which changes the selector of the webhook', () => {
  const documentedValues = async () => ({
    ...withoutCertManager,
    ...parseYaml(await readBlock('# values.yaml: for AKS')),
  });

  test('Helm upgrades an installation with the documented values, which also end a conflict', async (t) => {
    const installation = installationOf(t, 'documented');
    const { read, enforce } = webhookOf('documented-stoker-operator-webhook');
    await installation.upgrade(chart, withoutCertManager);
    await enforce();
    if (isHelm4)
      await assert.rejects(installation.upgrade(chart, withoutCertManager), /conflict.*"admissionsenforcer"/s);
    const values = await documentedValues();
    for (const replicaCount of [1, 2, 2]) {
      await installation.upgrade(chart, { ...values, replicaCount });
      await enforce();
    }
    const { clientConfig, namespaceSelector } = (await read()).webhooks[0];
    assert.equal(clientConfig.caBundle, CA_BUNDLE);
    assert.deepEqual(namespaceSelector.matchExpressions.slice(1), ADDED);
  });

  test('a Helm release of Helm 3 is upgraded by Helm 4 without flags, and moves to server-side apply', async (t) => {
    if (!isHelm4) return t.skip('it needs Helm 4');
    const installation = installationOf(t, 'moved');
    const { read, enforce } = webhookOf('moved-stoker-operator-webhook');
    // As Helm 3 does.
    await installation.upgrade(chart, withoutCertManager, '--server-side=false');
    await enforce();
    await installation.upgrade(chart, { ...withoutCertManager, replicaCount: 2 });
    const values = await documentedValues();
    await installation.upgrade(chart, values, '--server-side=true', '--force-conflicts');
    await enforce();
    await installation.upgrade(chart, { ...values, replicaCount: 2 });
    assert.equal((await read()).webhooks[0].clientConfig.caBundle, CA_BUNDLE);
  });

  test('kubectl applies install.yaml twice', async (t) => {
    installationOf(t, 'stoker-operator', NAMESPACE);
    const { read, enforce } = webhookOf('stoker-operator-webhook');
    for (let time = 0; time < 2; time += 1) {
      await cluster.kubectlWith(text, ...applied);
      await enforce();
    }
    assert.equal((await read()).webhooks[0].clientConfig.caBundle, CA_BUNDLE);
  });
});

/** Values that need a kind of another operator, by their path without `enabled`. */
const needs: { value: string; kind: string; values: object }[] = [
  { value: 'certManager', kind: 'Certificate', values: {} },
  ...['ServiceMonitor', 'PodMonitor', 'PrometheusRule'].map((kind) => {
    const value = `${kind[0]?.toLowerCase()}${kind.slice(1)}`;
    return { value, kind, values: { [value]: { enabled: true } } };
  }),
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

/** Asserts that helm ends with the value to set for a kind that the cluster doesn't have. */
async function assertMissing(run: Promise<unknown>, value: string, kind: string): Promise<void> {
  await assert.rejects(run, new RegExp(`the cluster has no kind ${kind} .*, or set ${value}\\.enabled=false`));
}

/** Lists the APIs and kinds of the cluster, as Argo CD passes them to `helm template`. */
async function listApis(): Promise<string[]> {
  const rows = (await cluster.kubectl('api-resources', '--no-headers')).trim().split('\n');
  return rows.flatMap((row) => {
    const [apiVersion, , kind] = row.trim().split(/\s+/).slice(-3);
    return [apiVersion!, `${apiVersion}/${kind}`];
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
  const items = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: namespace }, rules },
    clusterRoleBinding(namespace, namespace, account),
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

  test('certManager.enabled needs no Certificate without the admission endpoint; an upgrade with it ends', async (t) => {
    const installation = installationOf(t, 'upgraded');
    await installation.upgrade(chart, { webhook: { enabled: false } });
    for (const flags of [[], ['--dry-run=client'], ['--dry-run=server']])
      await assertMissing(installation.upgrade(chart, {}, ...flags), 'certManager', 'Certificate');
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

  test('an installer without permission to read namespaces and CRDs gets the same message, and can follow it', async (t) => {
    const namespace = 'restricted';
    const kubeconfig = await createInstaller(namespace);
    for (const resource of ['namespaces', 'customresourcedefinitions'])
      await assert.rejects(cluster.kubectl('get', resource, `--kubeconfig=${kubeconfig}`), /Forbidden/);
    const own = [`--namespace=${namespace}`, `--kubeconfig=${kubeconfig}`];
    const install = (...flags: string[]) => helm('install', 'own', chart, '--set=crds.install=false', ...own, ...flags);
    t.after(() => helm('uninstall', 'own', ...own));
    await assertMissing(install(), 'certManager', 'Certificate');
    await install('--set=certManager.enabled=false');
  });
});

test('with the kinds in the cluster, the same values are installed', async (t) => {
  const kinds = Object.entries(FOREIGN_KINDS);
  for (const [kind, group] of kinds) await cluster.kubectlWith(crdFor(kind, group), 'create', '--filename=-');
  await until(listApis, {
    describe: 'the kinds to be listed',
    accept: (apis) => kinds.every(([kind, group]) => apis.includes(`${group}/v1/${kind}`)),
  });
  const installation = installationOf(t, 'complete');
  await installation.upgrade(chart, Object.assign({}, ...needs.map(({ values }) => values)));
  const installed = Object.keys(await installation.snapshot()).map((name) => name.split(' ')[0]);
  for (const { kind } of needs) assert.ok(installed.includes(kind), kind);
});
