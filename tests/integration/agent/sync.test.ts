import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { slow } from '../../support/depth.ts';
import { shareGitServer } from '../../support/git-server-for.ts';
import { until } from '../../support/until.ts';
import { createGatewayPod, type GatewayPod, startSyncedPod } from './support/gateway-pod.ts';

const server = await shareGitServer();

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

  test("under a pause from the start, which doesn't keep the gateway from starting", slow, async (t) => {
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

  test('if the repository lacks a source, which the report names', async (t) => {
    const repository = await server.createRepository('missing-source');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t);
    await pod.setSpec(repository.url, profile({ mappings: [{ source: 'none', destination: 'x' }] }));
    await pod.settle(commit);
    const agent = await pod.start();
    const { status } = await pod.untilReport('Error', (report) => report.status?.state === 'Error');
    assert.equal(status?.reason, 'ProfileInvalid');
    assert.match(status?.message ?? '', /\bnone\b/);
    assert.deepEqual(await pod.files(), {});
    assert.equal((await fetch(`${agent.healthUrl}/readyz`)).status, 503);
  });
});

suite('a gateway whose git server is unavailable', () => {
  const useLastGood = (defaults: object = {}) => ({
    sync: { ...profile({}).sync, defaults: { startPolicy: 'useLastGood', ...defaults } },
  });

  test("doesn't start without files, whatever the start policy is, and recovers by itself", slow, async (t) => {
    const repository = await server.createRepository('away');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    server.fault = { status: 503 };
    t.after(() => {
      server.fault = undefined;
    });
    const pod = await createGatewayPod(t);
    await pod.setSpec(repository.url, useLastGood());
    await pod.settle(commit);
    const agent = await pod.start();
    await pod.untilReport('Error', (report) => report.status?.state === 'Error');
    assert.equal((await fetch(`${agent.healthUrl}/healthz`)).status, 200);
    assert.equal((await fetch(`${agent.healthUrl}/readyz`)).status, 503);
    server.fault = undefined;
    const { status: later } = await pod.untilSynced(commit);
    assert.deepEqual([later?.reason, later?.message], [undefined, undefined]);
  });

  test('starts on the files on disk if the start policy is useLastGood', async (t) => {
    const repository = await server.createRepository('last-good');
    const first = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t);
    await pod.setSpec(repository.url, useLastGood());
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
    await pod.setSpec(repository.url, useLastGood({ vars: { a: '1' } }));
    const third = await pod.start();
    await until(async () => (await fetch(`${third.healthUrl}/readyz`)).status === 200, { describe: 'readiness' });
  });
});
