import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import { gatewaySyncPath, syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { connectCluster } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { shareGitServer } from '../../support/git-server-for.ts';
import { startSlowLink } from '../../support/slow-link.ts';
import { until } from '../../support/until.ts';
import { createGatewayPod, type GatewayPod } from './support/gateway-pod.ts';

const server = await shareGitServer();

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

suite('a gateway that starts on the files of an earlier sync', () => {
  const useLastGood = { startPolicy: 'useLastGood' };
  const nowhere = async () => `https://127.0.0.1:${await freePort()}`;

  test('starts while the API server is unavailable, if its start policy allows that', slow, async (t) => {
    const strict = await createUsedPod(t, 'strict', {});
    const lenient = await createUsedPod(t, 'lenient', useLastGood);
    const waiting = await strict.start({}, { apiUrl: await nowhere() });
    await waiting.waitForLog(/watch interrupted/);
    const started = performance.now();
    await untilReady(await lenient.start({}, { apiUrl: await nowhere() }));
    assert.ok(performance.now() - started > 9_000, 'the API server is given time to answer');
    assert.deepEqual(await lenient.files(), { 'config/a': '1' });
    // The other one has waited for longer.
    assert.equal(await statusOf(`${waiting.healthUrl}/readyz`), 503);
  });

  test('starts if the GatewaySync was deleted, if its start policy allows that', slow, async (t) => {
    for (const [defaults, status] of [
      [useLastGood, 200],
      [{}, 503],
    ] as const) {
      const pod = await createUsedPod(t, `deleted-${status}`, defaults);
      await pod.client.delete(gatewaySyncPath(pod.namespace, 'gw'));
      const agent = await pod.start();
      await pod.untilReport('Pending', (report) => /does not exist/.test(report.status?.message ?? ''));
      if (status === 200) await untilReady(agent);
      assert.equal(await statusOf(`${agent.healthUrl}/readyz`), status);
    }
  });
});

suite('a new pod with the right files, while the git server is down,', () => {
  test('starts under requireSync, and repairs drift when the server is back', slow, async (t) => {
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
});

suite('a report never delays a sync', () => {
  test('if the agent has no permission to write it', async (t) => {
    const repository = await server.createRepository('unreported');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t, { bound: false });
    await pod.bind([{ apiGroups: ['sync.io'], resources: ['gatewaysyncs'], verbs: ['get', 'list', 'watch'] }]);
    await pod.setSpec(repository.url);
    await pod.settle(commit);
    await pod.start();
    await until(async () => (await pod.files())['config/a'] === '1', { describe: 'the file' });
    await assert.rejects(pod.client.getAs(syncReportPath(pod.namespace, 'gateway-0')), { code: 'api.404' });
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
