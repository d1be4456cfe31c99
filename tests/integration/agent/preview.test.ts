import assert from 'node:assert/strict';
import { lstat, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { type GitServer, startGitServer } from '../../../scripts/testbed/git-server.ts';
import type { SyncReportStatus } from '../../../shared/api/sync-report.ts';
import { ALL, NO_GATEWAY } from '../../../shared/domain/waves.ts';
import { groupPath, syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { slow } from '../../support/depth.ts';
import { startFakeIgnition } from '../../support/fake-ignition.ts';
import { gitServerFor } from '../../support/git-server-for.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';
import { createGatewayPod, type GatewayPod } from './support/gateway-pod.ts';
import { playRollout } from './support/play-rollout.ts';

let server: GitServer;
before(async () => {
  server = await startGitServer();
});
after(() => server.stop());

const mapping = { source: 'config', destination: 'config', template: true };
const specOf = (more: object = {}, profile: object = {}) => ({
  sync: { profiles: { default: { mappings: [mapping], syncPeriod: 5, ...profile } } },
  rollout: {},
  ...more,
});
const nowhere = { admitted: { rest: NO_GATEWAY } };
const everywhere = { admitted: { rest: ALL } };

interface Options {
  host?: GitServer;
  spec?: object;
  env?: Record<string, string>;
}

let repositories = 0;

/** A gateway that has the first commit of a rollout. */
async function arrange(t: TestContext, { host = server, spec = specOf(), env = {} }: Options = {}) {
  const repository = await host.createRepository(`preview-${++repositories}`);
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
  const propose = async (commit: string, changes: object = {}) => {
    const release = { number: 2, phase: 'Previewing' as const, commit, stableCommit: first, ...both };
    await play.roll({ ...release, ...nowhere, preview: { commit, revision }, ...changes });
    return { ...release, preview: { commit, revision } };
  };
  const untilStatus = async (describe: string, accept: (status: SyncReportStatus) => boolean) => {
    const { status } = await pod.untilReport(
      describe,
      (report) => report.status !== undefined && accept(report.status),
    );
    assert.ok(status);
    return status;
  };
  const untilPreviewed = (commit: string) =>
    untilStatus(`a preview of ${commit}`, ({ preview }) => preview?.commit === commit);
  return { repository, first, pod, play, revision, agent, labels, propose, untilStatus, untilPreviewed };
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
  test('that changes files, and shows it until it has delivered them', async (t) => {
    const { repository, first, pod, play, propose, untilPreviewed } = await arrange(t);
    const commit = await repository.commit({ files: { 'config/b': '2' } });
    const files = await pod.files();
    const release = await propose(commit);
    const { preview, unchangedAt, commit: applied } = await untilPreviewed(commit);
    assert.deepEqual([preview?.added, preview?.modified, preview?.deleted], [1, 0, 0]);
    assert.deepEqual([preview?.paths, unchangedAt, applied], [['add config/b (New)'], undefined, first]);
    assert.deepEqual(await pod.files(), files);
    const isFetch = ({ command, repository: name }: (typeof server.requests)[number]) =>
      command === 'fetch' && repository.url.includes(name);
    const before = server.requests.filter(isFetch).length;
    await play.roll({ ...release, phase: 'Progressing', ...everywhere });
    const { status } = await pod.untilSynced(commit);
    assert.deepEqual([status?.preview, status?.unchangedAt], [undefined, undefined]);
    assert.equal((await pod.files())['config/b'], '2');
    assert.equal(server.requests.filter(isFetch).length, before, 'the preview has fetched the template');
  });

  test(
    'that changes nothing: when it is admitted, it writes no file, and neither notifies nor verifies the gateway',
    slow,
    async (t) => {
      const gateway = await startFakeIgnition();
      t.after(() => gateway.stop());
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

  test(
    'that changes nothing: the report says so after a restart without verification, until files change',
    slow,
    async (t) => {
      const { repository, pod, play, propose, untilPreviewed, untilStatus, agent, labels } = await arrange(t);
      const commit = await repository.commit({ files: { README: '2' } });
      const release = await propose(commit);
      await untilPreviewed(commit);
      await play.roll({ ...release, phase: 'Progressing', ...everywhere });
      await untilStatus('the commit', (status) => status.commit === commit && status.unchangedAt === commit);
      await agent.stop();
      await rm(path.join(pod.data, 'config/a'));
      await pod.client.mergePatch(syncReportPath(pod.namespace, 'gateway-0'), {
        status: { unchangedAt: null, state: 'Pending' },
      });
      await pod.start(labels);
      const next = await untilStatus('the next agent', ({ state }) => state === 'Synced');
      assert.deepEqual([next.commit, next.unchangedAt], [commit, commit]);
      await play.label({ site: 'paris' });
      await untilStatus('other files', ({ unchangedAt }) => unchangedAt === undefined);
    },
  );

  test('again when its labels change, and then for the gateway as it is now', slow, async (t) => {
    const { repository, play, propose, untilPreviewed, untilStatus } = await arrange(t);
    const commit = await repository.commit({ files: { 'config/b': '{{ .Labels.tier }}' } });
    await propose(commit);
    assert.match((await untilPreviewed(commit)).preview?.failure ?? '', /Labels\.tier/);
    await play.label({ site: 'paris', tier: 'canary' });
    const { preview } = await untilStatus(
      'the files of the stable release',
      ({ preview: { added, modified } = {} }) => {
        return added === 1 && modified === 0;
      },
    );
    assert.deepEqual(preview?.paths, ['add config/b (New)']);
  });

  test('also with an empty volume, in a dry run, and while it is paused', slow, async (t) => {
    const { repository, first, pod, play, propose, untilPreviewed, agent, labels } = await arrange(t);
    const commit = await repository.commit({ files: { 'config/b': '2' } });
    await propose(commit);
    const { preview: usual } = await untilPreviewed(commit);
    await agent.stop();
    for (const directory of [pod.data, pod.repo]) await rm(directory, { recursive: true, force: true });
    await pod.client.create(
      groupPath('apps/v1', 'controllerrevisions', pod.namespace),
      await play.controllerRevision(),
    );
    await mkdir(pod.data);
    for (const switches of [{ dryRun: true }, { paused: true }]) {
      // So that the wait doesn't end with the report of the previous agent.
      await pod.client.mergePatch(syncReportPath(pod.namespace, 'gateway-0'), {
        status: { preview: null },
      });
      await pod.setSpec(repository.url, specOf({}, switches));
      await play.roll({
        number: 2,
        phase: 'Previewing',
        commit,
        stableCommit: first,
        stableRevision: usual?.revision ?? '',
        revision: usual?.revision ?? '',
        ...nowhere,
        preview: { commit, revision: usual?.revision ?? '' },
      });
      const next = await pod.start(labels);
      const { preview } = await untilPreviewed(commit);
      assert.deepEqual(preview, usual);
      assert.deepEqual(await pod.files(), {});
      await next.stop();
    }
  });

  test('and reports that it cannot be delivered, without the content of files', async (t) => {
    const { repository, pod, propose, untilPreviewed } = await arrange(t);
    const commit = await repository.commit({ files: { 'config/b': 'secret {{ .Vars.none }}' } });
    const files = await pod.files();
    await propose(commit);
    const { preview, unchangedAt, state, hasFailed } = await untilPreviewed(commit);
    assert.match(preview?.failure ?? '', /^config\/b: .*Vars\.none/);
    assert.doesNotMatch(preview?.failure ?? '', /secret/);
    assert.deepEqual([unchangedAt, state, hasFailed], [undefined, 'Synced', undefined]);
    assert.deepEqual(await pod.files(), files);
  });

  test('and reports a conflict only until the file is removed from the volume', slow, async (t) => {
    const spec = specOf({}, { onConflict: 'refuse' });
    const { repository, pod, propose, untilPreviewed, untilStatus } = await arrange(t, { spec });
    const commit = await repository.commit({ files: { 'config/b': 'from git' } });
    await writeFile(path.join(pod.data, 'config/b'), 'of the gateway');
    await propose(commit);
    assert.match((await untilPreviewed(commit)).preview?.failure ?? '', /^config\/b exists in the data volume/);
    await rm(path.join(pod.data, 'config/b'));
    const { preview } = await untilStatus('a preview with the file', ({ preview }) => preview?.added === 1);
    assert.deepEqual([preview?.failure, preview?.paths], [undefined, ['add config/b (New)']]);
  });

  test('again when the keys for signatures change', slow, async (t) => {
    const keys = await temporaryDirectory(t, 'keys-');
    const spec = specOf({}, { syncPeriod: 3600 });
    const arranged = await arrange(t, { spec, env: { GIT_VERIFY_KEYS_DIR: keys } });
    const { repository, pod, propose, untilPreviewed, untilStatus } = arranged;
    const commit = await repository.commit({ files: { 'config/b': '2' } });
    const verify = { mode: 'head', keysSecretRef: { name: 'keys' } };
    await pod.setSpec(repository.url, { ...spec, git: { repo: repository.url, ref: 'main', verify } });
    await propose(commit);
    const { preview: before } = await untilPreviewed(commit);
    await writeFile(path.join(keys, 'key.pub'), 'not a key\n');
    await untilStatus(
      'the problem with the key',
      ({ preview }) => preview !== undefined && preview.digest !== before?.digest,
    );
  });

  test('only as long as it is the candidate', slow, async (t) => {
    const { repository, first, play, revision, propose, untilPreviewed, untilStatus } = await arrange(t);
    const commit = await repository.commit({ files: { 'config/b': '2' } });
    await propose(commit);
    await untilPreviewed(commit);
    const both = { revision, stableRevision: revision };
    await play.roll({ number: 3, phase: 'Complete', commit: first, stableCommit: first, ...both, ...everywhere });
    await untilStatus('a report without preview', ({ preview }) => preview === undefined);
  });
});

suite('an agent whose git server is slow', () => {
  test('syncs first, and follows a newer candidate at once', async (t) => {
    const host = await gitServerFor(t);
    const { repository, propose, untilPreviewed, untilStatus } = await arrange(t, { host });
    const slow = await repository.commit({ files: { 'config/b': '2' } });
    host.requests.length = 0;
    host.fault = { hang: true };
    await propose(slow);
    await until(() => host.requests.length > 0, { describe: 'the fetch of a preview' });
    await propose(slow, { stableRef: 'again' });
    await untilStatus('a sync', ({ ref }) => ref === 'again');
    await until(() => host.requests.length > 1, { describe: 'the next try of the preview' });
    host.fault = undefined;
    const commit = await repository.commit({ files: { 'config/b': null, README: '2' } });
    await propose(commit, { stableRef: 'again' });
    assert.equal((await untilPreviewed(commit)).unchangedAt, commit);
  });

  test('repeats the preview until the server responds', slow, async (t) => {
    const host = await gitServerFor(t);
    const { repository, propose, untilPreviewed } = await arrange(t, { host });
    const commit = await repository.commit({ files: { README: '2' } });
    host.fault = { status: 503, times: 3 };
    await propose(commit);
    assert.equal((await untilPreviewed(commit)).unchangedAt, commit);
  });
});
