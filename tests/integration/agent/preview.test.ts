import assert from 'node:assert/strict';
import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { ALL, NO_GATEWAY } from '../../../shared/domain/rollout/waves.ts';
import { syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { slow } from '../../support/depth.ts';
import { startFakeIgnition } from '../../support/fake-ignition.ts';
import { shareGitServer } from '../../support/git-server-for.ts';
import { createGatewayPod, type GatewayPod } from './support/gateway-pod.ts';
import { playRollout } from './support/play-rollout.ts';

const server = await shareGitServer();

const mapping = { source: 'config', destination: 'config', template: true };
const specOf = (more: object = {}) => ({
  sync: { profiles: { default: { mappings: [mapping], syncPeriod: 5 } } },
  rollout: {},
  ...more,
});
const nowhere = { admitted: { rest: NO_GATEWAY } };
const everywhere = { admitted: { rest: ALL } };

interface Options {
  spec?: object;
  env?: Record<string, string>;
}

let repositories = 0;

/** A gateway that has the first commit of a rollout. */
async function arrange(t: TestContext, { spec = specOf(), env = {} }: Options = {}) {
  const repository = await server.createRepository(`preview-${++repositories}`);
  const first = await repository.commit({ files: { 'config/a': '{{ .GatewayName }} {{ .Labels.site }}' } });
  const pod = await createGatewayPod(t);
  const play = playRollout(pod);
  await pod.setSpec(repository.url, spec);
  const revision = await play.revision();
  const both = { revision, stableRevision: revision };
  const labels = await play.label({ site: 'berlin' });
  await play.roll({ number: 1, phase: 'Complete', commit: first, stableCommit: first, ...both, ...everywhere });
  const agent = await pod.start({ ...labels, ...env });
  await pod.untilSynced(first);
  /** Acts as the controller that has a new candidate. */
  const propose = async (commit: string) => {
    const phase = 'Previewing' as const;
    const release = { number: 2, phase, commit, stableCommit: first, ...both, preview: { commit, revision } };
    await play.roll({ ...release, ...nowhere });
    return release;
  };
  const { untilStatus } = pod;
  const untilPreviewed = (commit: string) =>
    untilStatus(`a preview of ${commit}`, ({ preview }) => preview?.commit === commit);
  return { repository, first, pod, play, agent, labels, propose, untilStatus, untilPreviewed };
}

/** The data volume without the agent's own files, with inodes and times, which show every write. */
async function stateOf({ data }: GatewayPod): Promise<string[]> {
  const entries = ['.', ...(await readdir(data, { recursive: true }))].filter(
    (entry) => !entry.startsWith('.sync-agent'),
  );
  const all = entries.map(async (entry) => {
    const { ino, mode, mtimeMs, ctimeMs } = await lstat(path.join(data, entry));
    return `${entry} ${ino} ${mode} ${mtimeMs} ${ctimeMs}`;
  });
  return (await Promise.all(all)).sort();
}

suite('an agent previews a release', () => {
  test('again when its labels change, and shows it until it has delivered the files', async (t) => {
    const { repository, first, pod, play, propose, untilPreviewed, untilStatus } = await arrange(t);
    const commit = await repository.commit({ files: { 'config/b': 'secret {{ .Labels.tier }}' } });
    const files = await pod.files();
    const release = await propose(commit);
    const failing = await untilPreviewed(commit);
    assert.match(failing.preview?.failure ?? '', /^config\/b: .*Labels\.tier/);
    assert.doesNotMatch(failing.preview?.failure ?? '', /secret/);
    assert.deepEqual([failing.unchangedAt, failing.state, failing.hasFailed], [undefined, 'Synced', undefined]);
    await play.label({ site: 'berlin', tier: 'canary' });
    const {
      preview,
      unchangedAt,
      commit: applied,
    } = await untilStatus(
      'a preview without a failure',
      (status) => status.preview !== undefined && status.preview.failure === undefined,
    );
    assert.deepEqual([preview?.added, preview?.modified, preview?.deleted], [1, 0, 0]);
    assert.deepEqual([preview?.paths, unchangedAt, applied], [['add config/b (New)'], undefined, first]);
    assert.deepEqual(await pod.files(), files);
    const isFetch = ({ command, repository: name }: (typeof server.requests)[number]) =>
      command === 'fetch' && repository.url.includes(name);
    const before = server.requests.filter(isFetch).length;
    await play.roll({ ...release, phase: 'Progressing', ...everywhere });
    const { status } = await pod.untilSynced(commit);
    assert.deepEqual([status?.preview, status?.unchangedAt], [undefined, undefined]);
    assert.equal((await pod.files())['config/b'], 'secret canary');
    assert.equal(server.requests.filter(isFetch).length, before, 'the preview has fetched the template');
  });

  test(
    'that changes nothing: when it is admitted, it writes no file, and neither notifies nor verifies the gateway',
    slow,
    async (t) => {
      const gateway = await startFakeIgnition(t);
      const requests = [{ method: 'POST', path: '/reload' }];
      const verify = { requests: [{ path: '/health' }], interval: '1s', for: '0s' };
      const spec = specOf({ gateway: { reload: { preset: 'none', requests }, verify } });
      const arranged = await arrange(t, { spec, env: { GATEWAY_PORT: String(gateway.port) } });
      const { repository, pod, play, propose, untilPreviewed, untilStatus, agent, labels } = arranged;
      await untilStatus('a verified gateway', ({ verification }) => verification === 'Passed');
      const commit = await repository.commit({ files: { README: '2' } });
      const release = await propose(commit);
      assert.equal((await untilPreviewed(commit)).unchangedAt, commit);
      const state = await stateOf(pod);
      const calls = gateway.calls.length;
      await play.roll({ ...release, phase: 'Progressing', ...everywhere });
      const status = await untilStatus('the commit', (report) => report.state === 'Synced' && report.commit === commit);
      assert.deepEqual(
        [status.preview, status.unchangedAt, status.verification, status.rollout],
        [undefined, commit, 'Unchanged', 2],
      );
      await agent.stop();
      // So that the wait doesn't end with the report of this agent.
      await pod.client.mergePatch(syncReportPath(pod.namespace, 'gateway-0'), {
        status: { verification: null },
      });
      await pod.start({ ...labels, GATEWAY_PORT: String(gateway.port) });
      const next = await untilStatus('the next agent', ({ verification }) => verification === 'Unchanged');
      assert.equal(next.unchangedAt, commit);
      assert.deepEqual(await stateOf(pod), state);
      assert.equal(gateway.calls.length, calls);
    },
  );
});
