import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import { type GitServer, startGitServer } from '../../../scripts/testbed/git-server.ts';
import { gatewaySyncPath, groupPath, syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { connectCluster } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { until } from '../../support/until.ts';
import { startSlowLink } from '../receiver/slow-link.ts';
import { createGatewayPod, type GatewayPod } from './support/gateway-pod.ts';

let server: GitServer;
before(async () => {
  server = await startGitServer();
});
after(() => server.stop());

const mappings = [{ source: 'config', destination: 'config' }];
const specOf = (defaults: object, profiles: object = { default: { mappings, syncPeriod: 5 } }) => ({
  sync: { defaults, profiles },
});
const statusOf = async (url: string) => (await fetch(url)).status;
const untilReady = ({ healthUrl }: { healthUrl: string }) =>
  until(async () => (await statusOf(`${healthUrl}/readyz`)) === 200, { describe: 'readiness' });

/** A pod with a volume that a previous agent delivered a commit to. */
async function createUsedPod(t: TestContext, name: string, defaults: object): Promise<GatewayPod> {
  const repository = await server.createRepository(name);
  const commit = await repository.commit({ files: { 'config/a': '1' } });
  const pod = await createGatewayPod(t);
  await pod.setSpec(repository.url, specOf(defaults));
  await pod.settle(commit);
  const agent = await pod.start();
  await pod.untilSynced(commit);
  await agent.stop();
  return pod;
}

/** Waits until the API server has noticed that the agent has lost a permission. */
async function untilDenied({ client, namespace }: GatewayPod, verb: string, resource: string): Promise<void> {
  const resourceAttributes = { namespace, verb, group: 'sync.io', resource };
  const spec = { user: `system:serviceaccount:${namespace}:gateway`, resourceAttributes };
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  const isAllowed = async () => (await client.create<{ status: { allowed: boolean } }>(path, review)).status.allowed;
  await until(isAllowed, { describe: `no permission to ${verb} ${resource}`, accept: (allowed) => !allowed });
}

suite('a gateway that starts on the files of an earlier sync', () => {
  const useLastGood = { startPolicy: 'useLastGood' };
  const nowhere = async () => `https://127.0.0.1:${await freePort()}`;

  test('starts while the API server is unavailable, after ten seconds', slow, async (t) => {
    const pod = await createUsedPod(t, 'no-api', useLastGood);
    const started = performance.now();
    const agent = await pod.start({}, { apiUrl: await nowhere() });
    await untilReady(agent);
    assert.ok(performance.now() - started > 9_000, 'the API server is given time to answer');
    assert.deepEqual(await pod.files(), { 'config/a': '1' });
  });

  test('starts if its profile is missing, or the GatewaySync was deleted', slow, async (t) => {
    const pod = await createUsedPod(t, 'no-profile', useLastGood);
    const agent = await pod.start({ PROFILE: 'other' });
    await untilReady(agent);
    await pod.untilReport('Error', ({ status }) => /no profile named other/.test(status?.message ?? ''));
    await agent.stop();
    await pod.client.delete(gatewaySyncPath(pod.namespace, 'gw'));
    await untilReady(await pod.start());
    await pod.untilReport('Pending', ({ status }) => /the GatewaySync does not exist/.test(status?.message ?? ''));
  });

  test("doesn't start under requireSync, whatever is missing", slow, async (t) => {
    const pod = await createUsedPod(t, 'strict', {});
    const blind = await pod.start({}, { apiUrl: await nowhere() });
    await pod.client.delete(gatewaySyncPath(pod.namespace, 'gw'));
    await blind.waitForLog(/watch interrupted/);
    const seeing = await pod.start();
    await pod.untilReport('Pending', ({ status }) => /the GatewaySync does not exist/.test(status?.message ?? ''));
    assert.equal(await statusOf(`${seeing.healthUrl}/readyz`), 503);
    await new Promise((resolve) => setTimeout(resolve, 12_000));
    assert.equal(await statusOf(`${blind.healthUrl}/readyz`), 503);
  });
});

suite('a new pod with the right files, while the git server is down,', () => {
  test('starts under requireSync, and repairs drift when the server is back', async (t) => {
    const pod = await createUsedPod(t, 'right', {});
    server.fault = { status: 503 };
    t.after(() => {
      server.fault = undefined;
    });
    const { commit } = (await pod.report()).status ?? {};
    await rm(pod.repo, { recursive: true });
    const agent = await pod.start();
    await untilReady(agent);
    await pod.untilSynced(commit ?? '');
    const file = path.join(pod.data, 'config/a');
    await writeFile(file, 'drift');
    await pod.untilReport('the outage', ({ status }) => status?.state === 'Error');
    assert.equal(await readFile(file, 'utf8'), 'drift');
    server.fault = undefined;
    const isRepaired = async () => (await readFile(file, 'utf8')) === '1';
    await until(isRepaired, { describe: 'the repair', timeout: 70_000 });
    await pod.untilSynced(commit ?? '');
  });

  test("doesn't start if a file differs", async (t) => {
    const pod = await createUsedPod(t, 'wrong', {});
    await writeFile(path.join(pod.data, 'config/a'), '2');
    server.fault = { status: 503 };
    t.after(() => {
      server.fault = undefined;
    });
    await rm(pod.repo, { recursive: true });
    const agent = await pod.start();
    await pod.untilReport('the outage', ({ status }) => status?.state === 'Error');
    assert.equal(await statusOf(`${agent.healthUrl}/readyz`), 503);
  });
});

suite('a report never delays a sync', () => {
  test('if the agent has no permission to write it', async (t) => {
    const repository = await server.createRepository('unreported');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t);
    await pod.client.mergePatch(groupPath('rbac.authorization.k8s.io/v1', 'roles', pod.namespace, 'sync-agent'), {
      rules: [{ apiGroups: ['sync.io'], resources: ['gatewaysyncs'], verbs: ['get', 'list', 'watch'] }],
    });
    await untilDenied(pod, 'create', 'syncreports');
    await pod.setSpec(repository.url);
    await pod.settle(commit);
    await pod.start();
    await until(async () => (await pod.files())['config/a'] === '1', { describe: 'the file' });
    await assert.rejects(pod.client.get(syncReportPath(pod.namespace, 'gateway-0')), { code: 'api.404' });
  });

  test('while the API server is silent', slow, async (t) => {
    const repository = await server.createRepository('silent');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t);
    await pod.setSpec(repository.url, specOf({}));
    await pod.settle(commit);
    const link = await startSlowLink(t, (await connectCluster()).url);
    await pod.start({}, { apiUrl: link.url });
    await pod.untilSynced(commit);
    link.hold();
    const file = path.join(pod.data, 'config/a');
    for (const drift of ['x', 'y']) {
      await writeFile(file, drift);
      const repaired = async () => (await readFile(file, 'utf8')) === '1';
      await until(repaired, { describe: `repair of ${drift}`, timeout: 60_000 });
    }
    link.release();
    await pod.untilReport('the repair', ({ status }) => status?.files?.modified === 1);
  });
});

test('an agent that lost its permissions queries less and less often', slow, async (t) => {
  const repository = await server.createRepository('unbound');
  const commit = await repository.commit({ files: { 'config/a': '1' } });
  const pod = await createGatewayPod(t);
  await pod.setSpec(repository.url, specOf({}));
  await pod.settle(commit);
  const link = await startSlowLink(t, (await connectCluster()).url);
  const agent = await pod.start({}, { apiUrl: link.url });
  await pod.untilSynced(commit);
  await pod.unbind();
  // A watch that is opened before that stays open.
  await untilDenied(pod, 'watch', 'gatewaysyncs');
  link.cut();
  await writeFile(path.join(pod.data, 'config/a'), 'drift');
  const refusals = (about: RegExp) =>
    agent.output.split('\n').filter((line) => /is forbidden/.test(line) && about.test(line)).length;
  const watches = /watch interrupted/;
  const reports = /report not written/;
  await until(() => refusals(watches) > 0 && refusals(reports) > 0, { describe: 'refusals of both' });
  const before = new Map([watches, reports].map((about) => [about, refusals(about)]));
  await new Promise((resolve) => setTimeout(resolve, 12_000));
  for (const [about, earlier] of before) {
    const later = refusals(about) - earlier;
    assert.ok(later <= 5, `${later} refusals in 12 seconds: ${about}`);
  }
  assert.ok(refusals(/"level":"warn"/) <= 6, 'warnings');
});
