import assert from 'node:assert/strict';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../scripts/testbed/control-plane.ts';
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../scripts/testbed/temporary-directory.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { slow } from '../support/depth.ts';
import { gatewaySync } from '../support/gateway-syncs.ts';
import { until } from '../support/until.ts';
import { clientWith } from './support/client-for.ts';
import { Installation } from './support/installation.ts';
import { chart, type Rendered } from './support/render.ts';

const crds = ['gatewaysyncs.sync.io', 'syncreleases.sync.io', 'syncreports.sync.io'];
const paths = [{ path: '/webhook', pathType: 'Prefix' }];
const old = {
  certManager: { enabled: false },
  replicaCount: 2,
  podLabels: { team: 'former' },
  webhookReceiver: {
    enabled: true,
    replicaCount: 3,
    hmac: { secret: 'a secret' },
    token: { secret: 'a token' },
    ingress: { enabled: true, hosts: [{ host: 'hooks.test', paths }], annotations: { note: 'former' } },
  },
  networkPolicy: { enabled: true },
};
const current = {
  certManager: { enabled: false },
  leaderElection: { enabled: false },
  serviceAccount: { name: 'renamed' },
  controller: { watchNamespaces: ['default'] },
  rbac: { autoBindAgent: { enabled: false } },
  webhook: { failurePolicy: 'Fail', namespaceSelector: { requireLabel: true } },
  webhookReceiver: {
    enabled: true,
    autoscaling: { enabled: true },
    resources: { requests: { cpu: '100m' } },
    hmac: { secretRef: { name: 'mine' } },
    tls: { secretName: 'receiver-tls' },
    service: { type: 'NodePort', port: 443 },
  },
  metrics: { service: { port: 9090 } },
};

let cluster: ControlPlane;
let directory: TemporaryDirectory;

before(async () => {
  [cluster, directory] = await Promise.all([startControlPlane(), makeTemporaryDirectory('charts-')]);
});

after(async () => {
  await Promise.all([cluster?.stop(), directory?.remove()]);
});

/** Copies the chart as an earlier version of itself, whose CRDs lack the newest column. */
async function copyAsEarlierVersion(name: string): Promise<string> {
  const copy = path.join(directory.path, name);
  await cp(chart, copy, { recursive: true });
  await edit(path.join(copy, 'Chart.yaml'), (text) => text.replace(/^(version|appVersion): .*$/gm, '$1: 0.0.9'));
  for (const file of ['crds/sync.io_gatewaysyncs.yaml', 'templates/crds/gatewaysyncs.yaml']) {
    await edit(path.join(copy, file), (text) => text.replace(/^ +- name: Profiles\n(?: {10}.*\n)+/m, ''));
  }
  return copy;
}

async function edit(file: string, change: (text: string) => string): Promise<void> {
  const before = await readFile(file, 'utf8');
  const after = change(before);
  assert.notEqual(after, before, `nothing to change in ${file}`);
  await writeFile(file, after);
}

const createGatewaySync = () =>
  cluster.kubectlWith(
    gatewaySync({ namespace: 'default', name: 'site' }, { repo: 'https://git.test/site.git' }),
    'create',
    '--filename=-',
  );

const uidOfGatewaySync = () =>
  cluster.kubectl('get', 'gatewaysync/site', '--namespace=default', '--output=jsonpath={.metadata.uid}');

const hasNewestColumn = async () => {
  const path = '--output=jsonpath={.spec.versions[0].additionalPrinterColumns[*].name}';
  return (await cluster.kubectl('get', 'crd', crds[0]!, path)).includes('Profiles');
};

const secret = '/api/v1/namespaces/upgraded/secrets/stoker-stoker-operator-webhook-certificate';
const webhook = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/stoker-stoker-operator-webhook';

/** Writes or removes the data that the controller stores in the chart's objects, which a new installation doesn't have. */
async function storeAsController(client: KubernetesClient, caBundle: string | null): Promise<void> {
  await client.mergePatch(secret, { data: caBundle === null ? null : { 'ca.crt': caBundle } });
  const path = '/webhooks/0/clientConfig/caBundle';
  const body = [caBundle === null ? { op: 'remove', path } : { op: 'add', path, value: caBundle }];
  await client.request({ method: 'PATCH', path: webhook, body, contentType: 'application/json-patch+json' });
}

/** Helm runs a dozen times, on a machine that has other work. */
const limit = { timeout: 600_000 };

test('an upgrade ends with the same objects as a new installation, and a rollback restores the previous ones', {
  ...slow,
  ...limit,
}, async (t) => {
  const installation = new Installation(cluster, { release: 'stoker', namespace: 'upgraded' });
  t.after(() => installation.remove());
  await installation.upgrade(await copyAsEarlierVersion('earlier'), old);
  const former = await installation.snapshot();
  await until(createGatewaySync, { describe: 'the CRDs to be served' });
  const uid = await uidOfGatewaySync();
  const caBundle = (await readFile(cluster.caFile)).toString('base64');
  const client = clientWith(cluster.kubeconfig);
  await storeAsController(client, caBundle);
  assert.equal(await hasNewestColumn(), false);

  await installation.upgrade(chart, current);
  assert.equal(await hasNewestColumn(), true);
  assert.equal(await uidOfGatewaySync(), uid);
  assert.deepEqual((await client.getAs<Rendered>(secret)).data, { 'ca.crt': caBundle });
  assert.equal((await client.getAs<Rendered>(webhook)).webhooks[0].clientConfig.caBundle, caBundle);
  await storeAsController(client, null);
  const upgraded = await installation.snapshot();

  await installation.helm('rollback', 'stoker', '1');
  assert.deepEqual(await installation.snapshot(), former);
  assert.equal(await uidOfGatewaySync(), uid);

  await installation.helm('uninstall', 'stoker', '--wait');
  assert.deepEqual(
    Object.keys(await installation.snapshot()),
    crds.map((name) => `CustomResourceDefinition /${name}`),
  );
  assert.equal(await uidOfGatewaySync(), uid);

  await installation.upgrade(chart, current);
  assert.deepEqual(await installation.snapshot(), upgraded, 'a new installation');
  assert.equal(await uidOfGatewaySync(), uid);

  await installation.upgrade(chart, { ...current, crds: { keep: false } });
  await installation.helm('uninstall', 'stoker', '--wait');
  await until(() => installation.snapshot(), {
    describe: 'nothing to be left',
    timeout: 180_000,
    accept: (objects) => Object.keys(objects).length === 0,
  });
});

test('a release with separately installed CRDs is upgraded and rolled back without loss', limit, async () => {
  const installation = new Installation(cluster, { release: 'apart', namespace: 'apart' });
  const earlier = await copyAsEarlierVersion('earlier-apart');
  await rm(path.join(earlier, 'templates/crds'), { recursive: true });
  await rm(path.join(earlier, '.helmignore'));
  const values = { certManager: { enabled: false } };
  await installation.upgrade(earlier, values);
  await until(createGatewaySync, { describe: 'the CRDs to be served' });
  const uid = await uidOfGatewaySync();

  await assert.rejects(installation.upgrade(chart, values), /invalid ownership metadata/);
  await installation.upgrade(chart, values, '--take-ownership');
  assert.equal(await hasNewestColumn(), true);
  await installation.helm('rollback', 'apart', '1');
  assert.equal(await uidOfGatewaySync(), uid);
});
