import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type GitServer, startGitServer } from '../../../scripts/testbed/git-server.ts';
import { API_VERSION, SYNC_REPORT } from '../../../shared/api/group.ts';
import type { SyncReport } from '../../../shared/api/sync-report.ts';
import { syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { random, slow } from '../../support/depth.ts';
import { startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { createGatewayPod, startSyncedPod } from './support/gateway-pod.ts';

let server: GitServer;
before(async () => {
  server = await startGitServer();
});
after(() => server.stop());

/** A pod whose agent waits for the controller, with its report, which the agent checks 10 s after its first write. */
async function startUnsettledPod(t: TestContext) {
  const pod = await createGatewayPod(t);
  await pod.setSpec(`${server.url}/none.git`);
  await pod.start();
  const waits = ({ status }: SyncReport) => status?.message?.startsWith('waiting for the controller') ?? false;
  return { pod, first: await pod.untilReport('a report that waits', waits) };
}

const statusOf = ({ status }: SyncReport) => ({ ...status, reportedAt: undefined });

suite('the report of an agent', () => {
  test('replaces that of an earlier pod of the same name, with nothing left of it', slow, async (t) => {
    const repository = await server.createRepository('takeover');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t);
    const metadata = { name: 'gateway-0', namespace: pod.namespace };
    const status = { state: 'Error', message: 'of another life', changes: ['add x'], podUID: 'gone' };
    await pod.client.create(syncReportPath(pod.namespace), {
      apiVersion: API_VERSION,
      kind: SYNC_REPORT.kind,
      metadata,
      status,
    });
    await pod.setSpec(repository.url);
    await pod.settle(commit);
    await pod.start();
    const report = await pod.untilSynced(commit);
    assert.deepEqual(report.metadata.ownerReferences, [
      { apiVersion: 'v1', kind: 'Pod', name: 'gateway-0', uid: pod.uid },
    ]);
    assert.equal(report.status?.podUID, pod.uid);
    assert.equal(report.status?.message, undefined);
    assert.equal(report.status?.changes, undefined);
  });

  test("is written even if the earlier pod's report is garbage-collected at the same time", slow, async (t) => {
    const repository = await server.createRepository('collected');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t);
    await pod.setSpec(repository.url);
    await pod.settle(commit);
    const agent = await pod.start();
    const uid = '00000000-0000-4000-8000-000000000000';
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'gateway-0', uid }];
    const metadata = { name: 'gateway-0', namespace: pod.namespace, ownerReferences };
    const report = { apiVersion: API_VERSION, kind: SYNC_REPORT.kind, metadata };
    // In any order, the report ends up with the agent's pod.
    await pod.client.create(syncReportPath(pod.namespace), report).catch(() => {});
    await agent.waitForLog(/sync finished/);
    await sleep(11_000);
    const { metadata: after } = await pod.untilSynced(commit);
    assert.deepEqual(
      after.ownerReferences?.map((owner) => owner.uid),
      [pod.uid],
    );
  });

  test('is recreated after it is deleted', slow, async (t) => {
    const { pod, first } = await startUnsettledPod(t);
    await pod.client.delete(syncReportPath(pod.namespace, 'gateway-0'));
    const after = await until(() => pod.report(), { describe: 'the report' });
    assert.deepEqual(statusOf(after), statusOf(first));
  });

  test('is written only when something changes', slow, async (t) => {
    const repository = await server.createRepository('quiet');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t);
    const mappings = [{ source: 'config', destination: 'config' }];
    await pod.setSpec(repository.url, { sync: { profiles: { default: { mappings, syncPeriod: 5 } } } });
    await pod.settle(commit);
    await pod.start();
    const before = await pod.untilSynced(commit);
    await sleep(6_000);
    await pod.settle(commit);
    assert.equal((await pod.report()).metadata.resourceVersion, before.metadata.resourceVersion);
  });
});

suite('a running agent', () => {
  test('waits for its permissions, and continues within about a second after it gets them', slow, async (t) => {
    const repository = await server.createRepository('rights');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t, { bound: false });
    await pod.setSpec(repository.url);
    await pod.settle(commit);
    const agent = await pod.start();
    await agent.waitForLog(/report not written/);
    await sleep(2_500);
    assert.deepEqual(await pod.files(), {});
    await pod.bind();
    const bound = performance.now();
    await pod.untilSynced(commit);
    assert.ok(performance.now() - bound < 60_000);
  });

  test('exits with status 0 on SIGTERM, after the current sync and its report', async (t) => {
    const repository = await server.createRepository('sigterm');
    const first = await repository.commit({ files: { 'config/a': '1' } });
    const { pod, agent } = await startSyncedPod(t, { repo: repository.url, commit: first });
    const reported = Promise.withResolvers<void>();
    server.fault = { delay: reported.promise, times: 1 };
    const second = await repository.commit({ files: { 'config/a': '2' } });
    const requests = server.requests.length;
    await pod.settle(second);
    await until(() => server.requests.length > requests, { describe: 'a fetch' });
    const ended = agent.stop();
    const readiness = async () => (await fetch(`${agent.healthUrl}/readyz`)).status;
    await until(readiness, { describe: 'no readiness', accept: (status) => status === 503 });
    reported.resolve();
    assert.deepEqual(await ended, { code: 0, signal: null });
    assert.deepEqual(await pod.files(), { 'config/a': '2' });
    assert.equal((await pod.report()).status?.commit, second);
  });

  test("exits on SIGTERM even during a fetch, which doesn't count as a failure", slow, async (t) => {
    const repository = await server.createRepository('cut-off');
    const first = await repository.commit({ files: { 'config/a': '1' } });
    const { pod, agent } = await startSyncedPod(t, { repo: repository.url, commit: first });
    const never = Promise.withResolvers<void>();
    t.after(() => never.resolve());
    server.fault = { delay: never.promise, times: 1 };
    const requests = server.requests.length;
    await pod.settle(await repository.commit({ files: { 'config/a': '2' } }));
    await until(() => server.requests.length > requests, { describe: 'a fetch' });
    assert.deepEqual(await agent.stop(), { code: 0, signal: null });
    const { state, message, commit } = (await pod.report()).status ?? {};
    assert.deepEqual([state, commit], ['Pending', first]);
    assert.match(message ?? '', /the pod is shutting down before the git server or the gateway responded/);
  });

  test('delivers exactly the desired tree on its next start, whenever it is killed', slow, async (t) => {
    const repository = await server.createRepository('killed');
    const pod = await createGatewayPod(t);
    await writeFile(path.join(pod.data, 'own.db'), 'of the gateway');
    await mkdir(path.join(pod.data, 'config'));
    await writeFile(path.join(pod.data, 'config/own'), 'of the gateway, too');
    await pod.setSpec(repository.url);
    const pathIn = (n: number, i: number) => {
      if (i % 4 === n % 4) return `config/f${i}`;
      return i % 3 === 0 ? `config/f${i}/${n}` : `config/d${i % 7}/f${i}`;
    };
    const tree = (n: number) =>
      Object.fromEntries(Array.from({ length: 120 }, (_, i) => [pathIn(n, i), `${i} ${i % 2 ? n : 0}`]));
    let before: Record<string, string> = {};
    let agent = await pod.start();
    for (let n = 0; n < 12; n += 1) {
      const files = tree(n);
      const gone = Object.fromEntries(Object.keys(before).map((file) => [file, null]));
      const commit = await repository.commit({ files: { ...gone, ...files } });
      before = files;
      await pod.settle(commit);
      await sleep(40 + random() * 110);
      await agent.kill();
      agent = await pod.start();
      await pod.untilSynced(commit);
      const wanted = { ...files, 'config/own': 'of the gateway, too', 'own.db': 'of the gateway' };
      assert.deepEqual(Object.entries(await pod.files()).sort(), Object.entries(wanted).sort());
    }
  });

  test('removes stale locks in its clone', slow, async (t) => {
    const repository = await server.createRepository('locks');
    const first = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t);
    await pod.setSpec(repository.url);
    await pod.settle(first);
    await mkdir(pod.repo, { recursive: true });
    for (const name of ['shallow.lock', 'index.lock', 'HEAD.lock']) await writeFile(path.join(pod.repo, name), '');
    const agent = await pod.start();
    await pod.untilSynced(first);
    await agent.kill();
    for (const name of ['shallow.lock', 'index.lock']) await writeFile(path.join(pod.repo, name), '');
    const second = await repository.commit({ files: { 'config/a': '2' } });
    await pod.settle(second);
    await pod.start();
    await pod.untilSynced(second);
  });

  test('follows the latest of many commits, one at a time', async (t) => {
    const repository = await server.createRepository('many');
    const pod = await createGatewayPod(t);
    await pod.setSpec(repository.url);
    await pod.start();
    let commit = '';
    for (let n = 0; n < 20; n += 1) {
      commit = await repository.commit({ files: { 'config/n': `${n}` } });
      await pod.settle(commit);
    }
    await pod.untilSynced(commit);
    assert.deepEqual(await pod.files(), { 'config/n': '19' });
  });

  test('runs no text of a status as an option', async (t) => {
    const repository = await server.createRepository('options');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t);
    await pod.setSpec(repository.url);
    const mark = path.join(pod.data, 'mark');
    await pod.settle(`--upload-pack=touch ${mark}`.slice(0, 64));
    await pod.start();
    await pod.untilReport('Pending', ({ status }) => status?.message?.includes('waiting for the commit') ?? false);
    await pod.settle('f'.repeat(40), `--upload-pack=touch ${mark}`);
    await pod.untilReport('Error', ({ status }) => status?.state === 'Error');
    await pod.settle(commit, 'v1');
    await pod.untilSynced(commit);
    assert.deepEqual(await pod.files(), { 'config/a': '1' });
  });

  test('lists everything that is wrong with its environment, and exits with 1', async (t) => {
    const program = startProgram(t, 'dist/agent.mjs', { env: { HEALTH_PORT: 'x', DATA_PATH: 'data', POD_NAME: 'p' } });
    assert.equal((await program.exited).code, 1);
    for (const name of ['POD_NAMESPACE', 'POD_UID', 'CR_NAME', 'DATA_PATH', 'HEALTH_PORT']) {
      assert.match(program.output, new RegExp(`${name}: must`));
    }
  });
});
