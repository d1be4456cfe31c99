import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import type { PlanView } from '../../../cli/fleet/plan-view.ts';
import { type GitServer, startGitServer } from '../../../scripts/testbed/git-server.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import type { GatewayPreview, SyncReportStatus } from '../../../shared/api/sync-report.ts';
import { syncRevision } from '../../../shared/domain/rollout/sync-revision.ts';
import { planOf } from '../../../shared/domain/rollout/waves.ts';
import { gatewaySyncPath, syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, connectCluster, createNamespace } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { injectedPod, report } from '../../support/gateway-pods.ts';
import { applyGatewaySync, patchStatus } from '../../support/gateway-syncs.ts';
import { kubeconfigWith } from '../../support/kubeconfig-with.ts';
import { blocksOf } from '../../support/markdown.ts';
import { gatewayCountsOf, rolloutStatusOf } from '../../support/objects.ts';
import { digestFor } from '../../support/planned-fleet.ts';
import { runCli } from '../../support/run-cli.ts';
import { startTcpServer } from '../../support/tcp-server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';
import { untilPermitted } from '../../support/until-permitted.ts';
import { viewerOf } from '../../support/viewer-of.ts';
import { arrange as arrangeAgent } from './inspected-gateway.ts';

const OLD = 'a'.repeat(40);
const NEW = 'b'.repeat(40);
const address = (namespace: string) => ({ namespace, name: 'plant' });

/** A resource with two waves, whose release `NEW` the test previews like the controller and the agents. */
async function arrange(t: TestContext, spec: object = {}) {
  const namespace = await createNamespace(t);
  const rollout = { waves: [{ name: 'canary', gateways: 1 }] };
  await applyGatewaySync(address(namespace), { repo: 'https://git.example/x' }, { rollout, ...spec });
  const found = await callApi<GatewaySync>({ path: gatewaySyncPath(namespace, 'plant') });
  const revision = syncRevision(found.spec.sync);
  const release = { commit: NEW, ref: 'main', revision };
  const counts = { total: 2, reported: 2, unchanged: 0, failing: 0, files: 0 };
  return {
    namespace,
    revision,
    /** Writes the status as the controller does; gateways are in the order of admission. */
    roll: async (fields: Partial<Record<keyof RolloutStatus, unknown>> = {}, preview: object = {}) => {
      const whole = { ...release, startedAt: new Date().toISOString(), ...counts, ...preview };
      await patchStatus(address(namespace), {
        lastSyncCommit: whole.commit,
        gateways: gatewayCountsOf({ total: 2 }),
        rollout: {
          ...rolloutStatusOf({ ...release, phase: 'Previewing', stableCommit: OLD, stableRevision: revision }),
          plan: planOf(found.spec.rollout?.waves ?? []),
          admission: ['canary', 'rest'].map((wave) => ({ wave, members: 'all', admitted: '' })),
          preview: whole,
          ...fields,
        },
      });
    },
    /** Creates a gateway whose agent reports a preview. */
    gateway: async (name: string, preview?: Partial<GatewayPreview>, status: Partial<SyncReportStatus> = {}) => {
      await apply(injectedPod(namespace, name, 'plant'));
      const nothing = { commit: NEW, revision, digest: digestFor('none'), added: 0, modified: 0, deleted: 0 };
      const previewed = preview && { preview: { ...nothing, ...preview } };
      const common = { crName: 'plant', gateway: name, commit: OLD, revision, agentVersion: '0.1.0' };
      await report({ namespace, name }, { ...common, ...previewed, ...status });
    },
  };
}

const change = (...paths: string[]) => ({ digest: digestFor(paths.join()), modified: paths.length, paths });

/** Creates the service account of the how-to guide in a namespace, and its kubeconfig as the guide does. */
async function documentedAccount(t: TestContext, namespace: string): Promise<string> {
  const file = 'docs/how-to/plan-changes.md';
  const page = await readFile(path.join(import.meta.dirname, '../../..', file), 'utf8');
  const text = page.replaceAll(/(namespace:? )gateways\b/g, `$1${namespace}`);
  const blockWith = (words: string) => blocksOf({ file, text }).find(({ code }) => code.includes(words))?.code ?? '';
  const cluster = await connectCluster();
  await cluster.kubectlWith(blockWith('kind: RoleBinding'), 'apply', '--filename', '-');
  const directory = await temporaryDirectory(t, 'plan-');
  const env = {
    PATH: `${path.dirname(cluster.binaries.kubectl)}:${process.env.PATH}`,
    KUBECONFIG: cluster.kubeconfig,
    KUBECACHEDIR: directory,
  };
  await runCommand('bash', ['-euc', blockWith('create token')], { cwd: directory, env });
  const kubeconfig = path.join(directory, 'plan.kubeconfig');
  assert.equal((await stat(kubeconfig)).mode & 0o777, 0o600);
  return await untilPermitted(kubeconfig, syncReportPath(namespace));
}

suite('kubectl stoker plan', { concurrency: 4 }, () => {
  test('shows groups, failures, and waves to the service account of the how-to guide', async (t) => {
    const { namespace, roll, gateway } = await arrange(t);
    await gateway('till-1', change('modify etc/a.conf'));
    await gateway('till-2', { failure: 'etc/a.conf: line 1: no value' });
    await roll();
    const kubeconfig = await documentedAccount(t, namespace);
    const plan = (...line: string[]) => runCli(['plan', 'plant', '-n', namespace, '--kubeconfig', kubeconfig, ...line]);
    const text = await plan();
    assert.equal(text.status, 1, text.notes);
    assert.match(text.output, / 1 of 2 gateways and \D+ 1 \(1 file \D+\)\n/);
    assert.match(text.output, /\ncanary +2 +1 +1\n/);
    assert.match(text.output, /\n\D+ 1 gateway .*: till-2\n {2}etc\/a\.conf: line 1: no value\n/);
    assert.match(text.output, /\n1 gateway \(canary 1\): till-1\n {2}~ etc\/a\.conf\n/);
    assert.equal(text.notes, '');
    const json = JSON.parse((await plan('-o', 'json')).output) as PlanView;
    assert.deepEqual(json.groups[0]?.gateways, [{ gateway: 'till-1', pod: 'till-1', wave: 'canary' }]);
    const markdown = await plan('--output=markdown');
    assert.match(markdown.output, /\n- modify `etc\/a\.conf`\n/);
    assert.doesNotMatch(markdown.output, /till|no value/);
    assert.equal(markdown.status, 1);
  });

  test('explains why there is no plan', async (t) => {
    const { namespace, roll } = await arrange(t);
    const kubeconfig = await viewerOf(namespace);
    const plan = (...line: string[]) => runCli(['plan', 'plant', '--kubeconfig', kubeconfig, ...line]);
    await roll({ preview: null });
    const missing = await plan();
    assert.deepEqual([missing.status, missing.output], [1, '']);
    assert.match(missing.notes, /: bbbbbbbb [^:]+\n$/);
    await roll({ phase: 'Complete', preview: null });
    const complete = await plan();
    assert.equal(complete.status, 0);
    assert.match(complete.output, /^✔ .*no commit waits/);
    for (const line of ['--all', '--gateway a', '-o yaml', '--ref a..b', '--commit abc', `--ref x --commit ${NEW}`])
      assert.equal((await plan(...line.split(' '))).status, 64, line);
  });

  test('waits for the preview of a commit, and reports a timeout', slow, async (t) => {
    const { namespace, roll, gateway } = await arrange(t);
    const kubeconfig = await viewerOf(namespace);
    const plan = (...line: string[]) => runCli(['plan', 'plant', '--kubeconfig', kubeconfig, '--commit', NEW, ...line]);
    await gateway('till-1', {}, { unchangedAt: NEW });
    await gateway('till-2');
    await roll({ commit: OLD, phase: 'Complete', preview: null });
    // With a short timeout, a read of a busy API server can also be too late.
    const untilLate = (words: RegExp) =>
      until(() => plan('--timeout', '1s'), { describe: `${words}`, accept: ({ notes }) => words.test(notes) });
    await untilLate(/ b{40}; .* b{40}\n$/);
    await roll({}, { reported: 1 });
    const partial = await untilLate(/^1 of 2 gateways have reported since /);
    assert.equal(partial.status, 1, 'not in time');
    const whole = plan('--timeout', '2m');
    await gateway('till-2', change('modify etc/a.conf'));
    await roll({}, { reported: 2 });
    const { status, output, notes } = await whole;
    assert.deepEqual([status, notes], [2, '']);
    assert.match(output, /would change 1 of 2 gateways/);
    await roll({ phase: 'Complete', stableCommit: NEW, preview: null });
    assert.equal((await plan()).status, 0);
  });

  test('fails when a newer commit replaces the one that it waits for', async (t) => {
    const { namespace, roll } = await arrange(t);
    const kubeconfig = await viewerOf(namespace);
    const newer = 'c'.repeat(40);
    await roll({ phase: 'Previewing' }, { reported: 0 });
    let isRunning = true;
    const line = ['plan', 'plant', '--kubeconfig', kubeconfig, '--commit', NEW, '--timeout', '4m'];
    const replaced = runCli(line).finally(() => {
      isRunning = false;
    });
    // The command reads the status at any time, so that it sees each of the two sooner or later.
    const commits = [NEW, newer];
    const replace = async () => {
      const [commit = '', ...others] = commits.splice(0);
      commits.push(...others, commit);
      await roll({ commit }, { commit, reported: 0 });
      return isRunning;
    };
    await until(replace, { describe: 'the end of the command', interval: 300, accept: (running) => !running });
    const { status, notes } = await replaced;
    assert.equal(status, 1);
    assert.match(notes, / b{40} .*; .* c{40}\n$/);
  });

  test('waits for an API server that does not respond no longer than --timeout', async (t) => {
    const port = await startTcpServer(t, () => {});
    const kubeconfig = await kubeconfigWith(t, { server: `http://127.0.0.1:${port}` }, { token: 'x' });
    const started = performance.now();
    const { status, notes } = await runCli(['plan', 'plant', '--timeout', '1s', '--kubeconfig', kubeconfig]);
    assert.equal(status, 3, notes);
    assert.ok(performance.now() - started < 12_000, 'less than the default timeout of a call');
  });
});

suite('kubectl stoker plan --ref', () => {
  let server: GitServer;
  before(async () => {
    server = await startGitServer();
  });
  after(() => server.stop());

  test('queries the agents, and changes nothing', slow, async (t) => {
    const { stoker, repository, commit, pod } = await arrangeAgent(t, server, 'plan');
    await repository.branch('other', commit);
    const other = await repository.commit({
      branch: 'other',
      files: { 'config/a.txt': 'new\n', 'config/new.txt': 'new\n', 'config/gone.txt': null },
    });
    const files = await pod.files();
    const { status, output, notes } = await stoker('plan', 'gw', '--ref', 'other');
    assert.equal(status, 2, notes);
    assert.match(output, new RegExp(`other \\(${other.slice(0, 8)}\\) would change 1 of 1 gateway \\(3 files in `));
    const listed = output.split('\n').filter((line) => /^ {2}[~+-] /.test(line));
    assert.deepEqual(listed.sort(), ['  + etc/new.txt', '  - etc/gone.txt', '  ~ etc/a.txt']);
    assert.deepEqual(await pod.files(), files);
    const same = await stoker('plan', 'gw', '--ref', 'main', '--output', 'markdown');
    assert.deepEqual([same.status, same.notes], [0, '']);
    assert.match(same.output, /` \D+ 1 gateway\./);
  });
});
