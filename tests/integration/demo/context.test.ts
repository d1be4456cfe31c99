import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../../scripts/testbed/control-plane.ts';
import { installCrds } from '../../../scripts/testbed/install-crds.ts';
import { until } from '../../support/until.ts';

const root = path.join(import.meta.dirname, '../../..');
const CRDS = ['gatewaysyncs.sync.io', 'syncreports.sync.io'];

let cluster: ControlPlane;
before(async () => {
  cluster = await startControlPlane();
});
after(() => cluster.stop());

/** Runs the demo on the cluster's context, and sends Ctrl-C where `interruptAt` resolves, which is given its output so far. */
async function demo(
  interruptAt?: (output: () => string) => Promise<unknown>,
): Promise<{ status: number | null; output: string }> {
  const args = ['scripts/demo/main.ts', '--context', 'testbed', ...(interruptAt ? [] : ['--once'])];
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig };
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const closed = once(child, 'close');
  await interruptAt?.(() => output).finally(() => child.kill('SIGINT'));
  const [status] = await closed;
  return { status, output };
}

const crds = async () =>
  (await cluster.kubectl('get', 'crd', '--output=jsonpath={.items[*].metadata.name}')).split(' ').filter(Boolean);

const untilGone = () => cluster.kubectl('wait', '--for=delete', 'namespace/stoker-demo', '--timeout=60s');

suite('the demo on a cluster of somebody else', { timeout: 600_000 }, () => {
  test('shows a push, and leaves nothing', async () => {
    const { status, output } = await demo();
    assert.equal(status, 0, output);
    assert.match(output, /the receiver answered 202/);
    await untilGone();
    await cluster.kubectl('wait', '--for=delete', ...CRDS.map((name) => `crd/${name}`), '--timeout=60s');
    assert.deepEqual(await crds(), []);
  });

  test('leaves nothing after Ctrl-C', async () => {
    const { status, output } = await demo((written) =>
      until(async () => written(), { describe: 'the end', accept: (text) => text.includes('Ctrl-C ends everything') }),
    );
    assert.equal(status, 130, output);
    await untilGone();
    await cluster.kubectl('wait', '--for=delete', ...CRDS.map((name) => `crd/${name}`), '--timeout=60s');
    assert.deepEqual(await crds(), []);
  });

  test('leaves nothing after Ctrl-C while it installs the CRDs', async () => {
    const { status, output } = await demo(() =>
      until(crds, { describe: 'a CRD', interval: 10, accept: (names) => names.length > 0 }),
    );
    assert.equal(status, 130, output);
    await cluster.kubectl('wait', '--for=delete', ...CRDS.map((name) => `crd/${name}`), '--timeout=60s');
    assert.deepEqual(await crds(), []);
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
    assert.match(output, /the operator is installed in this cluster \(Deployment default\/stoker-operator\)/);
    assert.equal(await cluster.kubectl('get', 'namespace', 'stoker-demo', '--ignore-not-found'), '');
  });
});

/** The part of the chart's Deployment that the demo looks at. */
function operator(namespaces: string): object {
  const labels = { 'app.kubernetes.io/name': 'stoker-operator', 'app.kubernetes.io/component': 'controller' };
  const env = [{ name: 'WATCH_NAMESPACES', value: namespaces }];
  const template = { metadata: { labels }, spec: { containers: [{ name: 'controller', image: 'controller', env }] } };
  const spec = { selector: { matchLabels: labels }, template };
  const metadata = { name: 'stoker-operator', namespace: 'default', labels };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec };
}
