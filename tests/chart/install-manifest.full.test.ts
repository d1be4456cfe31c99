import assert from 'node:assert/strict';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import { renderInstallManifest } from '../../scripts/release/install-manifest.ts';
import { type ControlPlane, startControlPlane } from '../../scripts/testbed/control-plane.ts';
import { git } from '../../scripts/testbed/git-command.ts';
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../scripts/testbed/temporary-directory.ts';
import { blocksOf, commandsOf, readPages, wordsOf } from '../support/markdown.ts';
import { Installation } from './support/installation.ts';
import { chart, parse, pick, type Rendered } from './support/render.ts';

const NAMESPACE = 'stoker-system';
const PUBLISHED = `https://github.com/stoker-operator/stoker-operator/releases/download/v${manifest.version}/install.yaml`;

let text: string;
let cluster: ControlPlane;
let directory: TemporaryDirectory;

before(async () => {
  [text, cluster, directory] = await Promise.all([
    renderInstallManifest(),
    startControlPlane(),
    makeTemporaryDirectory('install-'),
  ]);
});

after(() => Promise.all([cluster?.stop(), directory?.remove()]));

test('install.yaml has no secrets, and nothing that only an installation with Helm has', async () => {
  assert.equal(await renderInstallManifest(), text);
  const objects = parse(text);
  const [namespace, ...others] = objects;
  assert.deepEqual([namespace?.kind, namespace?.metadata.name], ['Namespace', NAMESPACE]);
  const places = new Set(others.map(({ metadata }) => metadata.namespace));
  assert.deepEqual([...places].sort(), [NAMESPACE, undefined]);
  const secrets = objects.filter(({ kind }) => kind === 'Secret');
  assert.deepEqual(
    secrets.map(({ metadata, data, stringData }) => [metadata.name, data, stringData]),
    [['stoker-operator-webhook-certificate', undefined, undefined]],
  );
  assert.doesNotMatch(text, /managed-by: Helm|resource-policy|meta\.helm\.sh|cert-manager\.io\//);
  for (const { metadata } of objects.filter(({ kind }) => kind === 'Deployment')) {
    // kubectl stoker doctor finds the programs by this label.
    assert.equal(metadata.labels?.['helm.sh/chart'], `stoker-operator-${manifest.version}`);
  }
  const volumes = pick(objects, 'Deployment', '-receiver').spec.template.spec.volumes;
  assert.deepEqual(volumes, [{ name: 'hmac', secret: { secretName: 'git-webhook' } }]);
});

test('install.yaml can be applied again without a change, and Helm can take over the installation', async (t) => {
  const installation = new Installation(cluster, { release: 'stoker-operator', namespace: NAMESPACE });
  t.after(() => installation.remove());
  const apply = ['apply', '--server-side', '--filename=-'];
  await cluster.kubectlWith(text, ...apply);
  // As the controller does.
  const merge = [`--namespace=${NAMESPACE}`, '--type=merge', '--patch={"data":{"ca.crt":"Y2E="}}'];
  await cluster.kubectl('patch', 'secret/stoker-operator-webhook-certificate', ...merge);
  const applied = await installation.snapshot();
  assert.equal(Object.keys(applied).length, parse(text).length - 1, 'all objects but the namespace');
  await cluster.kubectlWith(text, ...apply);
  assert.deepEqual(await installation.snapshot(), applied);

  const webhookReceiver = { enabled: true, hmac: { secretRef: { name: 'git-webhook' } } };
  const isNew = (await installation.helm('version', '--short')).startsWith('v4');
  const flags = ['--take-ownership', ...(isNew ? ['--force-conflicts'] : [])];
  await installation.upgrade(chart, { certManager: { enabled: false }, webhookReceiver }, ...flags);
  const objects = await installation.snapshot();
  const [deployment] = Object.values(objects).filter(({ kind }) => kind === 'Deployment');
  assert.equal(deployment?.metadata.labels?.['app.kubernetes.io/managed-by'], 'Helm');
  assert.deepEqual(objects[`Secret ${NAMESPACE}/stoker-operator-webhook-certificate`]?.data, { 'ca.crt': 'Y2E=' });
});

test('the commands for uninstalling without Helm keep only the CRDs', async (t) => {
  const installation = new Installation(cluster, { release: 'stoker-operator', namespace: NAMESPACE });
  t.after(() => installation.remove());
  await cluster.kubectlWith(text, 'apply', '--server-side', '--filename=-');
  const page = (await readPages()).find(({ file }) => file === 'docs/how-to/uninstalling.md');
  const [, section = ''] = page?.text.split('\n## Without Helm\n') ?? [];
  const [roles = '', namespace = ''] = commandsOf({ file: 'uninstalling.md', text: section });
  assert.equal(namespace, `kubectl delete namespace ${NAMESPACE}`);
  await cluster.kubectl(...wordsOf(roles).slice(1));
  const names = Object.keys(await installation.snapshot());
  assert.deepEqual(
    names.filter((name) => !name.includes(` ${NAMESPACE}/`)),
    ['gatewaysyncs', 'syncreports'].map((plural) => `CustomResourceDefinition /${plural}.sync.io`),
  );
});

/** Serves the manifest, and returns a kustomization in which its published address is replaced. */
async function withManifest(t: TestContext, kustomization: string): Promise<string> {
  assert.ok(kustomization.includes(PUBLISHED), kustomization);
  const server = createServer((_, response) => response.end(text)).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  return kustomization.replace(PUBLISHED, `http://127.0.0.1:${port}/install.yaml`);
}

test('kubectl applies the kustomization of the repository', async (t) => {
  const source = path.join(chart, '../install/kustomization.yaml');
  const kustomization = await readFile(source, 'utf8');
  assert.match(kustomization, new RegExp(`install\\?ref=v${manifest.version}"`));
  const repository = path.join(directory.path, 'repository');
  await cp(path.dirname(source), path.join(repository, 'install'), { recursive: true });
  await writeFile(path.join(repository, 'install/kustomization.yaml'), await withManifest(t, kustomization));
  await git(repository, ['init', '--quiet', '--initial-branch=main']);
  await git(repository, ['add', '.']);
  await git(repository, ['commit', '--quiet', '--message=install']);
  const built = await cluster.kubectl('kustomize', `file://${repository}//install?ref=main`);
  const names = (objects: Rendered[]) => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
  assert.deepEqual(names(parse(built)), names(parse(text)));
});

test('the kustomization in the docs changes the installation', async (t) => {
  const pages = await readPages();
  const page = pages.find(({ file }) => file === 'docs/how-to/installation.md');
  const code = page && blocksOf(page).find(({ code }) => code.startsWith('# kustomization.yaml'))?.code;
  assert.ok(code);
  const place = path.join(directory.path, 'own');
  await mkdir(place);
  await writeFile(path.join(place, 'kustomization.yaml'), await withManifest(t, code));
  const built = await cluster.kubectl('kustomize', place);
  const controller = pick(parse(built), 'Deployment', 'stoker-operator');
  const [container] = controller.spec.template.spec.containers;
  const agent = container.env.find(({ name }: { name: string }) => name === 'DEFAULT_AGENT_IMAGE').value;
  const mirror = 'registry.example.com/mirror/stoker-operator';
  assert.deepEqual(
    [controller.spec.replicas, container.image, agent],
    [2, `${mirror}/controller:${manifest.version}`, `${mirror}/agent:${manifest.version}`],
  );
  await cluster.kubectlWith(built, 'apply', '--server-side', '--dry-run=server', '--filename=-');
});
