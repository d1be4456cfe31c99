import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import type { FleetView, ResourceView } from '../../../cli/fleet/fleet.ts';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, connectCluster, createNamespace, mergePatch } from '../../support/cluster.ts';
import { injectedPod, report } from '../../support/gateway-pods.ts';
import { applyGatewaySync, patchStatus } from '../../support/gateway-syncs.ts';
import { kubeconfigWith } from '../../support/kubeconfig-with.ts';
import { gatewayCountsOf } from '../../support/objects.ts';
import { runCli } from '../../support/run-cli.ts';
import { stokerIn } from '../../support/stoker-in.ts';
import { viewerOf } from '../../support/viewer-of.ts';

const COMMIT = 'c0ffee11'.repeat(5);

const ready = (status: 'True' | 'False' | 'Unknown', reason: string, message: string) => [
  { type: 'Ready', status, reason, message, lastTransitionTime: '2026-01-01T00:00:00Z' },
];

const gateway = (namespace: string, name: string, state: object) => ({
  name,
  namespace,
  podName: `${name}-0`,
  syncStatus: 'Synced' as const,
  syncedCommit: COMMIT,
  ...state,
});

/** A namespace with a ready resource and a failed one, and a kubeconfig with read-only access. */
async function arrange(t: TestContext) {
  const namespace = await createNamespace(t);
  for (const name of ['plant', 'shop']) await applyGatewaySync({ namespace, name }, { repo: 'https://git.example/x' });
  const common = {
    observedGeneration: 1,
    lastSyncCommit: COMMIT,
    lastSyncTime: new Date().toISOString(),
    target: { ref: 'v1.2.3', source: 'Request' as const },
  };
  const plant = {
    gateways: gatewayCountsOf({ summary: '2/2 synced', total: 2, synced: 2 }),
    discoveredGateways: [gateway(namespace, 'a', {}), gateway(namespace, 'b', {})],
    conditions: ready('True', 'Synced', '2/2 synced'),
  };
  await patchStatus({ namespace, name: 'plant' }, { ...common, ...plant });
  const message = 'the volume is full \u001b[31m: free some space, or make it larger';
  const shop = {
    gateways: gatewayCountsOf({ summary: '1/2 synced', total: 2, synced: 1, error: 1 }),
    discoveredGateways: [gateway(namespace, 'c', {}), gateway(namespace, 'd', { syncStatus: 'Error', message })],
    conditions: ready('False', 'GatewaysFailed', `1/2 synced; d: ${message}`),
  };
  await patchStatus({ namespace, name: 'shop' }, { ...common, ...shop });
  return { namespace, viewer: await viewerOf(namespace) };
}

suite('kubectl stoker status', { concurrency: 4 }, () => {
  test('shows rollouts and problems to users with read access only', async (t) => {
    const { viewer } = await arrange(t);
    const { status, output, notes } = await runCli(['status', '--kubeconfig', viewer]);
    assert.equal(status, 1, notes);
    assert.match(output, /✔ +plant +v1\.2\.3 +c0ffee11 +2\/2 +all 2 gateways have it/);
    assert.match(output, /✘ +shop +v1\.2\.3 +c0ffee11 +1\/2 +1\/2 synced; d: the volume is full/);
    assert.match(output, /shop +d +d-0 +Error +c0ffee11 +the volume is full/);
    assert.match(output, /1 of 2 ready, 3 of 4 gateways in sync/);
    assert.ok(!output.includes('\u001b'));
  });

  test("counts gateways that don't fit into the status by their pods, without terminated ones", async (t) => {
    const { namespace } = await arrange(t);
    const names = ['e', 'f', 'g'];
    for (const name of [...names, 'job']) {
      await apply(injectedPod(namespace, name, 'plant'));
      await report({ namespace, name }, { crName: 'plant', commit: COMMIT });
    }
    await mergePatch(`${corePath('pods', namespace, 'job')}/status`, { status: { phase: 'Succeeded' } });
    await patchStatus({ namespace, name: 'plant' }, { gateways: gatewayCountsOf({ total: 5, synced: 5 }) });
    const stoker = await stokerIn(namespace);
    const { gateways } = JSON.parse((await stoker(['status', 'plant', '-o', 'json'])).output) as ResourceView;
    assert.deepEqual(
      gateways.map(({ pod, status }) => `${pod} ${status}`),
      ['a-0 Synced', 'b-0 Synced', 'e Synced', 'f Synced', 'g Synced'],
    );
  });

  test('prints data for programs, as JSON and as YAML', async (t) => {
    const { namespace, viewer } = await arrange(t);
    const json = await runCli(['status', '-o', 'json', '--kubeconfig', viewer]);
    const view = JSON.parse(json.output) as FleetView;
    assert.deepEqual(view.totals, { resources: 2, ready: 1, gateways: 4, synced: 3 });
    assert.deepEqual([view.items[0]?.namespace, view.items[1]?.gateways[1]?.status], [namespace, 'Error']);
    const yaml = await runCli(['status', 'plant', '--output=yaml', '--kubeconfig', viewer]);
    assert.equal((parse(yaml.output) as ResourceView).commit, COMMIT);
    assert.equal(yaml.status, 0, 'all that it shows is ready');
  });

  test('counts nothing in other namespaces, and names the missing permission', async (t) => {
    const [{ viewer }, other] = await Promise.all([arrange(t), arrange(t)]);
    const own = JSON.parse((await runCli(['status', '-o', 'json', '--kubeconfig', viewer])).output) as FleetView;
    assert.equal(own.totals.gateways, 4);
    for (const option of [['-A'], ['-n', other.namespace]]) {
      const { status, output, notes } = await runCli(['status', ...option, '--kubeconfig', viewer]);
      assert.deepEqual([status, output], [3, '']);
      assert.match(notes, /^error: .* list GatewaySyncs in .*: .* role view .*\n$/);
    }
    const { kubeconfig } = await connectCluster();
    const all = JSON.parse((await runCli(['status', '-A', '-o', 'json', '--kubeconfig', kubeconfig])).output);
    assert.ok((all as FleetView).totals.gateways >= 8);
  });

  test('distinguishes an empty namespace from a missing one only for users with permission', async (t) => {
    const namespace = await createNamespace(t);
    const viewer = await viewerOf(namespace);
    const { status, notes } = await runCli(['status', '--kubeconfig', viewer]);
    assert.equal(status, 1);
    assert.match(notes, /^\D* GatewaySync .* namespace test-\w+: .* -A .*\n$/);
  });

  test('explains a failed connection to the cluster in one line, with a remedy', async (t) => {
    const { viewer } = await arrange(t);
    const { url, kubeconfig } = await connectCluster();
    const access = (server: string) =>
      kubeconfigWith(t, { server, 'insecure-skip-tls-verify': true }, { token: 'wrong' });
    const none = await access('https://127.0.0.1:1');
    const cases: [string[], status: number, words: RegExp][] = [
      [['status', '--context', 'b', '--kubeconfig', viewer], 3, /context b not found .*: choose one of testbed$/],
      [['status', '--kubeconfig', none], 3, /at https:.*1 \(context plant\): .*ECONNREFUSED/],
      [['ui', '--no-open', '-A', '--kubeconfig', viewer], 3, / list GatewaySyncs /],
      [['status', '--kubeconfig', await access(url)], 3, / credentials: /],
      [['status', '--kubeconfig', '/nowhere'], 3, / kubeconfig \/nowhere: /],
      [['status', 'nothing', '--kubeconfig', viewer], 1, / GatewaySync nothing .* namespace test-/],
      [
        ['status', '-n', 'gatways', '--kubeconfig', kubeconfig],
        1,
        /namespace gatways not found \(context testbed\): list/,
      ],
    ];
    for (const [line, expected, words] of cases) {
      const { status, output, notes } = await runCli(line);
      assert.deepEqual([status, output], [expected, ''], notes);
      assert.match(notes.trimEnd(), words);
      assert.equal(notes.trimEnd().split('\n').length, 1);
    }
  });
});
