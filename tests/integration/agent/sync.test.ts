import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { type GitServer, startGitServer } from '../../../scripts/testbed/git-server.ts';
import type { SyncReport } from '../../../shared/api/sync-report.ts';
import { slow } from '../../support/depth.ts';
import { until } from '../../support/until.ts';
import { createGatewayPod, type GatewayPod, startSyncedPod } from './support/gateway-pod.ts';

let server: GitServer;
before(async () => {
  server = await startGitServer();
});
after(() => server.stop());

const profile = (fields: object, gateway: object = {}) => ({
  sync: { profiles: { default: { mappings: [{ source: 'config', destination: 'config' }], ...fields } } },
  gateway,
});

/** Waits until the volume has these files, which appear and disappear in sequence. */
const untilFiles = (pod: GatewayPod, files: Record<string, string>) =>
  until(() => pod.files(), { describe: 'the files', accept: (found) => isDeepStrictEqual(found, files) });

suite('a gateway follows its GatewaySync', () => {
  test('to each commit, and touches no other file', async (t) => {
    const repository = await server.createRepository('follow');
    const first = await repository.commit({ files: { 'config/a.json': '1', 'config/b/c.txt': '2', 'readme.md': 'x' } });
    const pod = await createGatewayPod(t);
    await writeFile(path.join(pod.data, 'own.db'), 'of the gateway');
    await pod.setSpec(repository.url);
    await pod.settle(first);
    const agent = await pod.start({ GATEWAY_NAME: 'edge' });
    const report = await pod.untilSynced(first);

    assert.deepEqual(await pod.files(), { 'config/a.json': '1', 'config/b/c.txt': '2', 'own.db': 'of the gateway' });
    assert.equal(report.metadata.ownerReferences?.[0]?.uid, pod.uid);
    const { time, duration, reportedAt, ...status } = report.status ?? {};
    assert.ok(time && duration && reportedAt);
    assert.deepEqual(status, {
      podUID: pod.uid,
      gateway: 'edge',
      profile: 'default',
      crName: 'gw',
      state: 'Synced',
      generation: 1,
      ref: 'main',
      commit: first,
      files: { added: 2, modified: 0, deleted: 0, unchanged: 0 },
      agentVersion: '0.1.0',
    });

    const second = await repository.commit({
      files: { 'config/a.json': '1.1', 'config/b/c.txt': null, 'config/d': '4' },
    });
    await pod.settle(second);
    const after = await pod.untilSynced(second);
    assert.deepEqual(await pod.files(), { 'config/a.json': '1.1', 'config/d': '4', 'own.db': 'of the gateway' });
    assert.deepEqual(after.status?.files, { added: 1, modified: 1, deleted: 1, unchanged: 0 });
    assert.match(agent.output, /"files":\{"added":1,"modified":1,"deleted":1,"unchanged":0\}.*"msg":"sync finished"/);
  });

  test('soon after a commit is resolved, long before the next check', async (t) => {
    const repository = await server.createRepository('fast');
    const first = await repository.commit({ files: { 'config/n': '0' } });
    const spec = profile({ syncPeriod: 3600 });
    const { pod } = await startSyncedPod(t, { repo: repository.url, commit: first, spec });
    const times: number[] = [];
    for (let n = 1; n <= 10; n += 1) {
      const commit = await repository.commit({ files: { 'config/n': `${n}` } });
      const started = performance.now();
      await pod.settle(commit);
      await until(async () => (await pod.files())['config/n'] === `${n}`, { describe: `n = ${n}`, interval: 2 });
      times.push(Math.round(performance.now() - started));
    }
    t.diagnostic(`milliseconds from status to file: ${times.join(', ')}`);
    assert.ok(
      times.every((ms) => ms < 60_000),
      times.join(', '),
    );
  });

  test('back to a reverted commit without waiting for the fetch of the other one', async (t) => {
    const repository = await server.createRepository('reverted');
    const first = await repository.commit({ files: { 'config/a': '1' } });
    const { pod, agent } = await startSyncedPod(t, { repo: repository.url, commit: first });
    const bad = await repository.commit({ files: { 'config/a': 'bad' } });
    const good = await repository.commit({ files: { 'config/a': '2' } });
    server.fault = { hang: true, times: 1 };
    const requests = server.requests.length;
    await pod.settle(bad);
    await until(() => server.requests.length > requests, { describe: 'a fetch' });
    await pod.settle(good);
    await pod.untilSynced(good);
    assert.deepEqual(await pod.files(), { 'config/a': '2' });
    await agent.waitForLog(/"standing":"superseded".*sync aborted/);
    assert.doesNotMatch(agent.output, new RegExp(`"commit":"${bad}".*sync finished`));
  });

  test('only once its spec is observed by the controller', async (t) => {
    const repository = await server.createRepository('unsettled');
    const commit = await repository.commit({ files: { 'config/a': '1', 'other/b': '2' } });
    const pod = await createGatewayPod(t);
    await pod.setSpec(repository.url);
    await pod.start();
    await pod.untilReport('Pending', ({ status }) => status?.message?.includes('waiting for the controller') ?? false);
    await pod.settle(commit);
    await pod.untilSynced(commit);
    await pod.setSpec(repository.url, profile({ mappings: [{ source: 'other', destination: 'other' }] }));
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.deepEqual(await pod.files(), { 'config/a': '1' });
    await pod.settle(commit);
    await untilFiles(pod, { 'other/b': '2' });
  });

  test('to the mode of a mapping, also when only that changes, and after drift', slow, async (t) => {
    const repository = await server.createRepository('modes');
    const commit = await repository.commit({ files: { 'keys/id': { content: 'key', executable: true } } });
    const specWith = (mode: string) =>
      profile({ mappings: [{ source: 'keys', destination: '.ssh', mode }], syncPeriod: 5 });
    const { pod } = await startSyncedPod(t, { repo: repository.url, commit, spec: specWith('0600') });
    const key = path.join(pod.data, '.ssh/id');
    const untilMode = (mode: number) =>
      until(async () => (await stat(key)).mode & 0o7777, { describe: 'the mode', accept: (found) => found === mode });
    await untilMode(0o600);
    await pod.setSpec(repository.url, specWith('0440'));
    await pod.settle(commit);
    await untilMode(0o440);
    await chmod(key, 0o644);
    await untilMode(0o440);
    assert.deepEqual(await pod.files(), { '.ssh/id': 'key' });
  });

  test('after drift, without a request to the git server or the API server', slow, async (t) => {
    const repository = await server.createRepository('drift');
    const commit = await repository.commit({ files: { 'config/a': '1', 'config/b': '2' } });
    const { pod, agent } = await startSyncedPod(t, {
      repo: repository.url,
      commit: commit,
      spec: profile({ syncPeriod: 5 }),
    });
    const requests = server.requests.length;
    await writeFile(path.join(pod.data, 'config/a'), 'x');
    await rm(path.join(pod.data, 'config/b'));
    await untilFiles(pod, { 'config/a': '1', 'config/b': '2' });
    assert.equal(server.requests.length, requests);
    // The files are there a moment before they are counted.
    const metrics = await until(async () => await (await fetch(`${agent.metricsUrl}/metrics`)).text(), {
      describe: 'both repairs in the metrics',
      accept: (text) => text.includes('sync_agent_drift_total 2'),
    });
    // A check between the two changes repairs them one by one.
    assert.match(metrics, /^sync_agent_syncs_total\{result="success"\} [23]$/m);
    for (const line of [
      'sync_agent_drift_total 2',
      'sync_agent_files_changed_total{change="added"} 3',
      'sync_agent_info{version="0.1.0"} 1',
    ]) {
      assert.ok(metrics.includes(line), `${line}\n${metrics}`);
    }
    assert.match(metrics, /sync_agent_last_success_timestamp_seconds 1\d{9}/);
    assert.match(metrics, /sync_agent_fetch_duration_seconds_count 1\n/);
  });
});

suite('the report of a sync', () => {
  test('contains the generation of the applied spec, even if that changes no file', async (t) => {
    const repository = await server.createRepository('generation');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const { pod } = await startSyncedPod(t, { repo: repository.url, commit });
    assert.equal((await pod.report()).status?.generation, 1);
    await pod.setSpec(repository.url, { polling: { enabled: true } });
    await pod.settle(commit);
    const isApplied = ({ status }: SyncReport) => status?.state === 'Synced' && status.generation === 2;
    await pod.untilReport('the new generation', isApplied);
  });
});

suite("a gateway's files stay unchanged", () => {
  test('while paused, which the report says, with the commit on disk', async (t) => {
    const repository = await server.createRepository('paused');
    const first = await repository.commit({ files: { 'config/a': '1' } });
    const { pod, agent } = await startSyncedPod(t, { repo: repository.url, commit: first });
    await pod.setSpec(repository.url, { paused: true });
    const second = await repository.commit({ files: { 'config/a': '2' } });
    await pod.settle(second);
    const { status } = await pod.untilReport('Paused', (report) => report.status?.state === 'Paused');
    assert.equal(status?.commit, first);
    assert.equal(status?.generation, 2);
    assert.deepEqual(await pod.files(), { 'config/a': '1' });
    assert.equal((await fetch(`${agent.healthUrl}/readyz`)).status, 200);
    await pod.setSpec(repository.url);
    await pod.settle(second);
    await pod.untilSynced(second);
  });

  test("under a pause from the start, which doesn't keep the gateway from starting", async (t) => {
    const pod = await createGatewayPod(t);
    await pod.setSpec('https://git.invalid/x', profile({ paused: true }));
    const agent = await pod.start();
    const { status } = await pod.untilReport('Paused', (report) => report.status?.state === 'Paused');
    assert.equal(status?.commit, undefined);
    await until(async () => (await fetch(`${agent.healthUrl}/readyz`)).status === 200, { describe: 'readiness' });
  });

  test('in a dry run, which reports what it would do', async (t) => {
    const repository = await server.createRepository('dry');
    const files = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`config/${n}`, '1']));
    const commit = await repository.commit({ files });
    const pod = await createGatewayPod(t);
    await pod.setSpec(repository.url, profile({ dryRun: true }));
    await pod.settle(commit);
    await pod.start();
    const { status } = await pod.untilReport('DryRun', (report) => report.status?.state === 'DryRun');
    assert.equal(status?.commit, undefined);
    assert.equal(status?.changes?.length, 100);
    assert.equal(status?.changes?.[0], 'add config/0 (New)');
    assert.equal(status?.files?.added, 150);
    assert.deepEqual(await pod.files(), {});
  });

  test('in a dry run on files of an earlier commit, which is never Synced, and reports problems', slow, async (t) => {
    const repository = await server.createRepository('dry-after');
    const first = await repository.commit({ files: { 'config/a': '1' } });
    const { pod, agent } = await startSyncedPod(t, { repo: repository.url, commit: first });
    const mappings = [{ source: 'config', destination: 'config', template: true }];
    await pod.setSpec(repository.url, profile({ dryRun: true, mappings }));
    await pod.settle(first);
    const same = await pod.untilReport('DryRun', (report) => report.status?.state === 'DryRun');
    assert.deepEqual([same.status?.commit, same.status?.changes], [first, []]);
    await pod.settle(await repository.commit({ files: { 'config/a': '{{ .GatewayName }}' } }));
    const { status } = await pod.untilReport('the change', (report) => report.status?.changes?.length === 1);
    assert.deepEqual([status?.state, status?.commit], ['DryRun', first]);
    assert.deepEqual(status?.changes, ['modify config/a (ContentChanged)']);
    await pod.settle(await repository.commit({ files: { 'config/a': '{{ .Vars.none }}' } }));
    const failed = await pod.untilReport('Error', (report) => report.status?.state === 'Error');
    assert.match(failed.status?.message ?? '', /config\/a: line 1: .* add it to vars/);
    assert.equal(failed.status?.commit, first);
    assert.deepEqual(await pod.files(), { 'config/a': '1' });
    assert.equal((await fetch(`${agent.healthUrl}/readyz`)).status, 200);
  });

  const refused: [name: string, spec: object, message: RegExp][] = [
    [
      'a profile that is not there',
      { sync: { profiles: { other: { mappings: [{ source: 'a', destination: 'b' }] } } } },
      /no profile named default, only other/,
    ],
    ['a missing source', profile({ mappings: [{ source: 'none', destination: 'x' }] }), /the repository has no none/],
  ];
  for (const [name, spec, message] of refused) {
    test(`if the profile asks for ${name}`, async (t) => {
      const repository = await server.createRepository(name.replaceAll(' ', '-'));
      const commit = await repository.commit({ files: { 'config/a': '1' } });
      const pod = await createGatewayPod(t);
      await pod.setSpec(repository.url, spec);
      await pod.settle(commit);
      const agent = await pod.start();
      const { status } = await pod.untilReport('Error', (report) => report.status?.state === 'Error');
      assert.match(status?.message ?? '', message);
      assert.deepEqual(await pod.files(), {});
      assert.equal((await fetch(`${agent.healthUrl}/readyz`)).status, 503);
    });
  }
});

suite('a gateway is protected from', () => {
  test('links in its own volume, through which nothing is written', async (t) => {
    const repository = await server.createRepository('links');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t);
    const outside = path.join(pod.repo, '../outside');
    await mkdir(outside);
    await symlink(outside, path.join(pod.data, 'config'));
    await pod.setSpec(repository.url);
    await pod.settle(commit);
    await pod.start();
    const { status } = await pod.untilReport('Error', (report) => report.status?.state === 'Error');
    assert.match(status?.message ?? '', /config is a symbolic link in the data volume/);
    assert.deepEqual(await readdir(outside), []);
    await rm(path.join(pod.data, 'config'));
    await pod.untilSynced(commit);
  });

  test('links out of the repository, through which nothing outside is read', async (t) => {
    const repository = await server.createRepository('repository-links');
    const commit = await repository.commit({
      files: { 'config/a': '1', 'config/l': { symlink: '../../../etc/passwd' } },
    });
    const pod = await createGatewayPod(t);
    await pod.setSpec(repository.url);
    await pod.settle(commit);
    await pod.start();
    const { status } = await pod.untilReport('Error', (report) => report.status?.state === 'Error');
    assert.match(
      status?.message ?? '',
      / add "\/config\/l" to excludePatterns: config\/l -> .*passwd \(outside the repository\)$/,
    );
    assert.deepEqual(await pod.files(), {});
    await pod.setSpec(repository.url, profile({ excludePatterns: ['/config/l'] }));
    await pod.settle(commit);
    await pod.untilSynced(commit);
    assert.deepEqual(await pod.files(), { 'config/a': '1' });
  });
});

test('a gateway gets what links point to, also when only that changes, until links are refused', async (t) => {
  const repository = await server.createRepository('followed-links');
  const files = {
    'config/a': { symlink: '../all/a' },
    'config/d': { symlink: '../all/d' },
    'all/a': '1',
    'all/d/x': '1',
  };
  const first = await repository.commit({ files });
  const pod = await createGatewayPod(t);
  await pod.setSpec(repository.url);
  await pod.settle(first);
  await pod.start();
  await pod.untilSynced(first);
  assert.deepEqual(await pod.files(), { 'config/a': '1', 'config/d/x': '1' });
  const second = await repository.commit({ files: { 'all/a': '2', 'all/d/y': '2', other: '2' } });
  await pod.settle(second);
  await pod.untilSynced(second);
  assert.deepEqual(await pod.files(), { 'config/a': '2', 'config/d/x': '1', 'config/d/y': '2' });
  await pod.setSpec(repository.url, profile({ links: 'refuse' }));
  await pod.settle(second);
  const { status } = await pod.untilReport('Error', (report) => report.status?.state === 'Error');
  assert.match(status?.message ?? '', /config\/a is a symbolic link in the repository/);
});

suite('a gateway whose git server is unavailable', () => {
  test('recovers by itself, and reports the problem in the meantime', slow, async (t) => {
    const repository = await server.createRepository('away');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    server.fault = { status: 503 };
    t.after(() => {
      server.fault = undefined;
    });
    const pod = await createGatewayPod(t);
    await pod.setSpec(repository.url);
    await pod.settle(commit);
    const agent = await pod.start();
    const { status } = await pod.untilReport('Error', (report) => report.status?.state === 'Error');
    assert.match(status?.message ?? '', /the git server responded with 503/);
    assert.equal((await fetch(`${agent.healthUrl}/healthz`)).status, 200);
    assert.equal((await fetch(`${agent.healthUrl}/readyz`)).status, 503);
    server.fault = undefined;
    const { status: later } = await pod.untilSynced(commit);
    assert.equal(later?.message, undefined);
  });

  test('starts on the files on disk if the start policy is useLastGood', async (t) => {
    const repository = await server.createRepository('last-good');
    const first = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t);
    const spec = profile({}) as { sync: object };
    await pod.setSpec(repository.url, { sync: { ...spec.sync, defaults: { startPolicy: 'useLastGood' } } });
    await pod.settle(first);
    const agent = await pod.start();
    await pod.untilSynced(first);
    await agent.kill();
    await pod.settle(await repository.commit({ files: { 'config/a': '2' } }));
    server.fault = { status: 503 };
    t.after(() => {
      server.fault = undefined;
    });
    const again = await pod.start();
    await until(async () => (await fetch(`${again.healthUrl}/readyz`)).status === 200, { describe: 'readiness' });
    assert.deepEqual(await pod.files(), { 'config/a': '1' });
    await pod.untilReport('Error', ({ status }) => status?.state === 'Error');
    await again.kill();
    // Nor can the controller resolve anything.
    await pod.setSpec(repository.url, {
      sync: { ...spec.sync, defaults: { startPolicy: 'useLastGood', vars: { a: '1' } } },
    });
    const third = await pod.start();
    await until(async () => (await fetch(`${third.healthUrl}/readyz`)).status === 200, { describe: 'readiness' });
  });

  test("doesn't start without files, whatever the start policy is", slow, async (t) => {
    const repository = await server.createRepository('no-last-good');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    server.fault = { status: 503 };
    t.after(() => {
      server.fault = undefined;
    });
    const pod = await createGatewayPod(t);
    const spec = profile({}) as { sync: object };
    await pod.setSpec(repository.url, { sync: { ...spec.sync, defaults: { startPolicy: 'useLastGood' } } });
    await pod.settle(commit);
    const agent = await pod.start();
    await pod.untilReport('Error', (report) => report.status?.state === 'Error');
    assert.equal((await fetch(`${agent.healthUrl}/readyz`)).status, 503);
    server.fault = undefined;
    await pod.untilSynced(commit);
    assert.equal((await fetch(`${agent.healthUrl}/readyz`)).status, 200);
  });

  test('reports problems with the volume', {
    skip: process.getuid?.() === 0 && 'root may write anywhere',
  }, async (t) => {
    const repository = await server.createRepository('read-only');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t);
    await pod.setSpec(repository.url);
    await pod.start();
    await chmod(pod.data, 0o555);
    await pod.settle(commit);
    await pod.untilReport('Error', ({ status }) => status?.message?.includes('may not write') ?? false);
  });
});
