import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { KubeConfig } from '@kubernetes/client-node';
import { gatewaySyncObject } from '../../../scripts/demo/objects.ts';
import { type ApiCall, callApi } from '../../../scripts/testbed/call-api.ts';
import { type ControlPlane, startControlPlane } from '../../../scripts/testbed/control-plane.ts';
import { CRDS_PATH, type Definition, installCrds } from '../../../scripts/testbed/install-crds.ts';
import { makeTemporaryFolder } from '../../../scripts/testbed/temporary-folder.ts';
import { until } from '../../support/until.ts';

const root = path.join(import.meta.dirname, '../../..');
/** What is loaded of a big dependency, as in the tests themselves: all of it is half of what a short run costs. */
const slimImports = path.join(root, 'scripts/test/slim-imports.ts');
const CRDS = ['gatewaysyncs.sync.io', 'syncreports.sync.io'];

let cluster: ControlPlane;
before(async () => {
  cluster = await startControlPlane();
});
after(() => cluster.stop());

interface Run {
  /** Resolves when the demo is to be interrupted, and is given its output so far. */
  interruptAt?: (output: () => string) => Promise<unknown>;
  interrupt?: (child: ChildProcess) => void;
  kubeconfig?: string;
  environment?: Record<string, string>;
}

const pressCtrlC = (child: ChildProcess) => child.kill('SIGINT');

/** Runs the demo on the cluster's context; without `interruptAt` it ends by itself. */
async function demo(run: Run = {}): Promise<{ status: number | null; output: string }> {
  const { interruptAt, interrupt = pressCtrlC, kubeconfig = cluster.kubeconfig, environment } = run;
  const flags = ['--import', pathToFileURL(slimImports).href];
  const args = [...flags, 'scripts/demo/main.ts', '--context', 'testbed', ...(interruptAt ? [] : ['--once'])];
  const env = { ...process.env, KUBECONFIG: kubeconfig, ...environment };
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const closed = once(child, 'close');
  await interruptAt?.(() => output).finally(() => interrupt(child));
  const [status] = await closed;
  return { status, output };
}

const call = <T>(request: ApiCall) => callApi<T>(cluster, request);
const NAMESPACE_PATH = '/api/v1/namespaces/stoker-demo';
const CRD_PATHS = CRDS.map((name) => `${CRDS_PATH}/${name}`);

const crds = async () =>
  (await call<{ items: Definition[] }>({ path: CRDS_PATH })).items.map(({ metadata: { name } }) => name);

const untilGone = (path = NAMESPACE_PATH) =>
  until(
    () =>
      call({ path }).then(
        () => false,
        ({ status }) => status === 404,
      ),
    { describe: `the end of ${path}` },
  );

/** Deletes objects and waits until they are gone. */
async function remove(...paths: string[]): Promise<void> {
  for (const path of paths) await call({ method: 'DELETE', path });
  for (const path of paths) await untilGone(path);
}

/** Nothing of the demo is in the cluster, or soon. */
async function assertNothingIsLeft(): Promise<void> {
  for (const path of [NAMESPACE_PATH, ...CRD_PATHS]) await untilGone(path);
  assert.deepEqual(await crds(), []);
}

const untilItStaysUp = (written: () => string) =>
  until(async () => written(), { describe: 'the end', accept: (text) => text.includes('Ctrl-C ends everything') });

/** What else than Ctrl-C lets a process end: a supervisor, and a terminal that is closed and can be written to no more. */
const ends: Record<string, (child: ChildProcess) => void> = {
  // As under npm, which hands on what the terminal sends to all.
  'SIGTERM, twice': (child) => {
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGTERM'), 50);
  },
  'the end of its terminal': (child) => {
    child.stdout?.destroy();
    child.stderr?.destroy();
    child.kill('SIGHUP');
  },
};

/** Who may begin to use the CRDs while the demo is under way. */
const users = [
  { who: 'an operator', object: operator('team-a'), why: 'the operator is installed' },
  { who: 'a GatewaySync', object: gatewaySyncOfSomebody(), why: 'GatewaySyncs outside of stoker-demo need it' },
];

suite('the demo on a cluster of somebody else', { timeout: 600_000 }, () => {
  test('shows a push, leaves nothing, and says so', async () => {
    const { status, output } = await demo();
    assert.equal(status, 0, output);
    assert.match(output, /the receiver answered 202/);
    assert.match(output, /The namespace stoker-demo is removed\./);
    for (const name of CRDS) assert.match(output, new RegExp(`The CRD ${name} is removed\\.`));
    await assertNothingIsLeft();
  });

  test('leaves nothing after Ctrl-C, and a second one leaves it alone while it is under way', async () => {
    let second = '';
    const { status, output } = await demo({
      interruptAt: async (written) => {
        await untilItStaysUp(written);
        second = (await demo()).output;
      },
    });
    assert.match(second, /a demo may be under way/);
    assert.equal(status, 130, output);
    assert.match(output, /The namespace stoker-demo is removed\./);
    await assertNothingIsLeft();
  });

  for (const [how, interrupt] of Object.entries(ends)) {
    test(`leaves nothing after ${how}`, async () => {
      const { status, output } = await demo({ interruptAt: untilItStaysUp, interrupt });
      assert.equal(status, 130, output);
      await assertNothingIsLeft();
    });
  }

  test('leaves nothing after Ctrl-C while it installs the CRDs', async () => {
    const { status, output } = await demo({
      interruptAt: () => until(crds, { describe: 'a CRD', interval: 10, accept: (names) => names.length > 0 }),
    });
    assert.equal(status, 130, output);
    await assertNothingIsLeft();
  });

  test('refuses a namespace of somebody else, and changes nothing', async () => {
    await cluster.kubectl('create', 'namespace', 'stoker-demo');
    await cluster.kubectl('create', 'configmap', 'mine', '--namespace=stoker-demo');
    const { status, output } = await demo();
    assert.equal(status, 1, output);
    assert.match(output, /the namespace stoker-demo is there already: remove it, or choose another context/);
    assert.match(
      await cluster.kubectl('get', 'namespace', 'stoker-demo', '--output=jsonpath={.status.phase}'),
      /Active/,
    );
    await cluster.kubectl('get', 'configmap', 'mine', '--namespace=stoker-demo');
    assert.deepEqual(await crds(), []);
    await remove(NAMESPACE_PATH);
  });

  test('leaves the CRD of somebody else as it is, and removes the one that it created', async () => {
    const name = 'syncreports.sync.io';
    await cluster.kubectl('create', `--filename=${path.join(root, 'chart/crds/sync.io_syncreports.yaml')}`);
    await cluster.kubectl('patch', 'crd', name, '--type=merge', '--patch={"spec":{"names":{"shortNames":["sr"]}}}');
    await cluster.kubectl('wait', '--for=condition=Established', `crd/${name}`);
    const look = () => cluster.kubectl('get', 'crd', name, '--output=jsonpath={.metadata.uid} {.metadata.generation}');
    const before = await look();
    const { status, output } = await demo();
    assert.equal(status, 0, output);
    assert.match(output, /The CRD syncreports\.sync\.io stays: it was there before\./);
    await untilGone();
    await untilGone(`${CRDS_PATH}/gatewaysyncs.sync.io`);
    assert.equal(await look(), before);
    await remove(`${CRDS_PATH}/${name}`);
  });

  for (const { who, object, why } of users) {
    test(`leaves the CRDs to ${who} that came meanwhile`, async () => {
      const { status, output } = await demo({
        interruptAt: async (written) => {
          await untilItStaysUp(written);
          await cluster.kubectlWith(object, 'apply', '--filename=-');
        },
      });
      assert.equal(status, 130, output);
      for (const name of CRDS) assert.match(output, new RegExp(`The CRD ${name} stays: ${why}`));
      await untilGone();
      assert.deepEqual(await crds(), CRDS);
      await cluster.kubectlWith(object, 'delete', '--filename=-');
      await remove(...CRD_PATHS);
    });
  }

  test('leaves a CRD that somebody upgraded meanwhile to another version, with its objects', async () => {
    const object = { ...gatewaySyncOfSomebody(), apiVersion: 'sync.io/v9' };
    const { status, output } = await demo({
      interruptAt: async (written) => {
        await untilItStaysUp(written);
        await upgradeGatewaySyncs('v9');
        await until(() => cluster.kubectlWith(object, 'create', '--filename=-'), { describe: 'the new version' });
      },
    });
    assert.equal(status, 130, output);
    assert.match(output, /The CRD gatewaysyncs\.sync\.io stays: somebody changed it/);
    assert.match(output, /The CRD syncreports\.sync\.io stays: GatewaySyncs outside of stoker-demo need it/);
    await untilGone();
    await cluster.kubectlWith(object, 'delete', '--filename=-');
    await remove(...CRD_PATHS);
  });

  test('removes what it may, and says what stays and why', async () => {
    const kubeconfig = await somebodyWhoMayDelete({ apiGroups: ['apiextensions.k8s.io'], resources: ['*'] });
    const { status, output } = await demo({ kubeconfig });
    assert.equal(status, 1, output);
    assert.match(output, /The namespace stoker-demo stays: .* cannot delete resource "namespaces"/);
    for (const name of CRDS) assert.match(output, new RegExp(`The CRD ${name} is removed\\.`));
    await remove(NAMESPACE_PATH);
    await assertNothingIsLeft();
  });

  test('leaves the namespace where CRDs stay that it may not remove, and by it the next run removes all', async (t) => {
    const kubeconfig = await somebodyWhoMayDelete({ apiGroups: [''], resources: ['namespaces'] });
    const { status, output } = await demo({ kubeconfig });
    assert.equal(status, 1, output);
    for (const name of CRDS) assert.match(output, new RegExp(`The CRD ${name} stays: .* cannot delete resource`));
    assert.match(output, /The namespace stoker-demo stays: by it the next run finds the rest/);
    const folder = await makeTemporaryFolder('plugin-');
    t.after(folder.remove);
    const next = await demo({
      kubeconfig: await kubeconfigWithPlugin(folder.path),
      // The plugin has the environment of the person, whose level is none of those that the programs know.
      environment: { DEMO_TEST_PROFILE: 'production', LOG_LEVEL: 'verbose' },
    });
    assert.equal(next.status, 0, next.output);
    await assertNothingIsLeft();
  });

  test('says what stays where the API server is away, and removes it the next time', async () => {
    const { status, output } = await demo({
      interruptAt: async (written) => {
        await untilItStaysUp(written);
        await cluster.stopApiServer();
      },
    });
    await cluster.startApiServer();
    assert.equal(status, 130, output);
    for (const name of CRDS) assert.match(output, new RegExp(`The CRD ${name} stays: .*ECONNREFUSED`));
    assert.match(output, /The namespace stoker-demo stays: by it the next run/);
    const next = await demo();
    assert.equal(next.status, 0, next.output);
    await assertNothingIsLeft();
  });

  test('works next to an operator for other namespaces, whose CRDs stay as they are', async () => {
    await installCrds(cluster);
    await cluster.kubectl('annotate', 'crd', ...CRDS, 'meta.helm.sh/release-name=somebody');
    await cluster.kubectlWith(operator('team-a'), 'apply', '--filename=-');
    const look = () => cluster.kubectl('get', 'crd', ...CRDS, '--output=jsonpath={.items[*].metadata.resourceVersion}');
    const before = await look();
    const { status, output } = await demo();
    assert.equal(status, 0, output);
    await untilGone();
    assert.equal(await look(), before);
  });

  test('says what is in the way of it next to an operator for all namespaces, and changes nothing', async () => {
    await cluster.kubectlWith(operator(''), 'apply', '--filename=-');
    const { status, output } = await demo();
    assert.equal(status, 1, output);
    assert.match(output, /the operator is installed in this cluster \(Deployment default\/gitops\)/);
    assert.equal(await cluster.kubectl('get', 'namespace', 'stoker-demo', '--ignore-not-found'), '');
  });
});

function gatewaySyncOfSomebody(): object {
  const { metadata, ...rest } = gatewaySyncObject('https://git.example.com/gateways.git', '60s');
  return { ...rest, metadata: { ...metadata, namespace: 'default' } };
}

/** The part of the chart's Deployment that the demo looks at, with a `nameOverride`. */
function operator(namespaces: string): object {
  const selected = { 'app.kubernetes.io/name': 'gitops', 'app.kubernetes.io/component': 'controller' };
  const labels = { ...selected, 'helm.sh/chart': 'stoker-operator-0.1.0' };
  const env = [{ name: 'WATCH_NAMESPACES', value: namespaces }];
  const template = { metadata: { labels }, spec: { containers: [{ name: 'controller', image: 'controller', env }] } };
  const spec = { selector: { matchLabels: selected }, template };
  const metadata = { name: 'gitops', namespace: 'default', labels };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec };
}

/** As a release does that ends the version before it: the CRD is the same object, and what is stored stays. */
async function upgradeGatewaySyncs(version: string): Promise<void> {
  const crd: Definition = JSON.parse(await cluster.kubectl('get', 'crd', 'gatewaysyncs.sync.io', '--output=json'));
  const [old] = crd.spec.versions;
  const versions = [
    { ...old, name: version, served: true, storage: true },
    { ...old, served: false, storage: false },
  ];
  await cluster.kubectlWith({ ...crd, spec: { ...crd.spec, versions } }, 'replace', '--filename=-');
}

/** A kubeconfig that asks a program for its credentials, which wants to know the person's profile. */
async function kubeconfigWithPlugin(folder: string): Promise<string> {
  const config = new KubeConfig();
  config.loadFromFile(cluster.kubeconfig);
  const { name, token } = config.getCurrentUser() ?? {};
  const credential = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token } };
  const plugin = `#!/bin/sh\n[ "$DEMO_TEST_PROFILE" = production ] && echo '${JSON.stringify(credential)}'\n`;
  await writeFile(`${folder}/plugin`, plugin, { mode: 0o700 });
  const exec = { apiVersion: credential.apiVersion, command: `${folder}/plugin`, interactiveMode: 'Never' };
  const exported = JSON.parse(config.exportConfig());
  await writeFile(`${folder}/kubeconfig`, JSON.stringify({ ...exported, users: [{ name, user: { exec } }] }));
  return `${folder}/kubeconfig`;
}

/** A kubeconfig of somebody who may do everything that the demo does, but of what it removes only this. */
async function somebodyWhoMayDelete(which: { apiGroups: string[]; resources: string[] }): Promise<string> {
  const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'somebody' } };
  const items = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'somebody', namespace: 'default' } },
    {
      ...rbac,
      kind: 'ClusterRole',
      rules: [
        { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch', 'create', 'update', 'patch'] },
        { ...which, verbs: ['delete'] },
      ],
    },
    {
      ...rbac,
      kind: 'ClusterRoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'somebody' },
      subjects: [{ kind: 'ServiceAccount', name: 'somebody', namespace: 'default' }],
    },
  ];
  await cluster.kubectlWith({ apiVersion: 'v1', kind: 'List', items }, 'apply', '--filename=-');
  return await cluster.kubeconfigFor({ namespace: 'default', serviceAccount: 'somebody' });
}
