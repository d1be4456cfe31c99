import assert from 'node:assert/strict';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { clientOf } from '../../../scripts/testbed/client-of.ts';
import { writeKubeconfig } from '../../../scripts/testbed/cluster-access.ts';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { groupPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { watch } from '../../../shared/io/kubernetes/watch.ts';
import { callApi, connectCluster, createNamespace, kubectl } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { type Address, applyGatewaySync, push, request, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { gitServerFor } from '../../support/git-server-for.ts';
import { type Program, startProgram } from '../../support/program.ts';
import { startController } from '../../support/start-controller.ts';
import { startProxy } from '../../support/start-proxy.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const startReplica = (t: TestContext, namespace: string, name: string, environment?: Record<string, string>) =>
  startController(t, namespace, { LEADER_ELECTION: 'true', POD_NAME: name, ...environment });

/** A kubeconfig with a port on which no process listens. */
async function unreachableKubeconfig(t: TestContext): Promise<string> {
  const directory = await temporaryDirectory(t, 'unreachable-');
  const { caFile } = await connectCluster();
  const url = `https://127.0.0.1:${await freePort()}`;
  return writeKubeconfig(path.join(directory, 'kubeconfig'), { url, caFile, token: 'none' });
}

const LEASE = 'stoker-operator-controller';

/** An identity is the name of the pod, with a suffix, because two processes can have the same name. */
const podOf = (identity = '') => identity.split('_')[0] ?? '';

const holderOf = async (namespace: string) => {
  const at = groupPath('coordination.k8s.io/v1', 'leases', namespace, LEASE);
  return podOf((await callApi<{ spec: { holderIdentity?: string } }>({ path: at })).spec.holderIdentity);
};

/** Successive holders of the lease; empty for none. */
async function followHolders(t: TestContext, namespace: string): Promise<string[]> {
  const client = clientOf((await connectCluster()).kubeconfig, { userAgent: 'leadership-test' });
  const following = new AbortController();
  t.after(() => following.abort());
  const leasesPath = groupPath('coordination.k8s.io/v1', 'leases', namespace);
  const options = { query: {}, signal: following.signal, idleTimeoutMs: 120_000 };
  const leases = watch<{ spec: { holderIdentity?: string } }>(client, leasesPath, options);
  const holders: string[] = [];
  const follow = async () => {
    for await (const event of leases) {
      const holder = event.type === 'BOOKMARK' ? holders.at(-1) : podOf(event.object.spec.holderIdentity);
      if (holder !== undefined && holder !== holders.at(-1)) holders.push(holder);
    }
  };
  void follow().catch(() => {});
  await until(() => holders.length > 0, { describe: 'the lease is followed' });
  return holders;
}

interface Replicas {
  namespace: string;
  leader: Program;
  spare: Program;
}

/** Ends the leader, and asserts that the spare leads after the release of the lease, not after its expiry. */
async function expectHandOver(t: TestContext, { namespace, leader, spare }: Replicas, withinMs?: number) {
  const holders = await followHolders(t, namespace);
  const stoppedAt = performance.now();
  const ended = leader.stop();
  await spare.waitForLog(/became leader/, withinMs);
  t.diagnostic(`handed over within ${Math.round(performance.now() - stoppedAt)} ms`);
  await until(() => holders.at(-1) === 'two', { describe: 'the lease of the spare' });
  assert.deepEqual(holders, ['one', '', 'two']);
  assert.equal((await ended).code, 0);
}

/** Writes the lease as another replica would. */
const giveLeaseTo = (namespace: string, holderIdentity: string) =>
  kubectl(
    ...['patch', 'lease', LEASE, '--namespace', namespace, '--type=merge', '--patch'],
    JSON.stringify({ spec: { holderIdentity, leaseDurationSeconds: 15 } }),
  );

/** Time from the start of a replica until it led (ms), by its log, because processes can take long to start. */
function ledAfterMs({ output }: Program): number {
  const timeOf = (message: string) =>
    Date.parse(new RegExp(`"time":"([^"]+)".*"msg":"${message}`).exec(output)?.[1] ?? '');
  return timeOf('became leader') - timeOf('controller started');
}

/** Starts a leader, and a spare with this environment. */
async function arrange(t: TestContext, environment?: Record<string, string>) {
  const server = await gitServerFor(t);
  const repository = await server.createRepository('app');
  const commit = await repository.commit({ files: { 'config/a': '1' } });
  const namespace = await createNamespace(t);
  const leader = await startReplica(t, namespace, 'one');
  await leader.waitForLog(/became leader/);
  const spare = await startReplica(t, namespace, 'two', environment);
  return { namespace, leader, spare, commit, repository, server };
}

suite('a controller with a lease', () => {
  const waiting = {
    'the API server is away': { environment: { WEBHOOK_PORT: '0' }, log: /watch interrupted/ },
    'there is no certificate yet': {
      environment: { WEBHOOK_CERT_DIR: '/nowhere', DEFAULT_AGENT_IMAGE: 'agent' },
      log: /no certificate for the admission endpoint yet/,
    },
  };
  for (const [what, { environment, log }] of Object.entries(waiting)) {
    test(`exits on request even while ${what}`, async (t) => {
      const controller = startProgram(t, 'dist/controller.mjs', {
        env: {
          KUBECONFIG: await unreachableKubeconfig(t),
          LEADER_ELECTION: 'false',
          METRICS_PORT: '0',
          HEALTH_PORT: String(await freePort()),
          ...environment,
        },
      });
      await controller.waitForLog(log);
      const ended = await Promise.race([controller.stop(), sleep(30_000)]);
      assert.equal(ended?.code, 0, controller.output);
    });
  }
});

suite('of two controllers', { concurrency: 4 }, () => {
  test('one leads, queries the git server, and hands over when it exits', async (t) => {
    // Only the queries of the spare pass through the proxy.
    const proxy = await startProxy(t);
    const { namespace, leader, spare, commit, repository } = await arrange(t, {
      HTTP_PROXY: `http://127.0.0.1:${proxy.port}`,
    });
    assert.equal(await holderOf(namespace), 'one');
    await repository.tag('v1.0.0');
    const [branch, range] = ['app', 'releases'].map((name) => ({ namespace, name })) as [Address, Address];
    await applyGatewaySync(branch, { repo: repository.url });
    await applyGatewaySync(range, { repo: repository.url, semver: '>=1' });
    for (const address of [branch, range])
      await untilGatewaySync(address, 'resolved', ({ status }) => status?.lastSyncCommit === commit);
    for (const [id, address] of [branch, range].entries()) {
      await request(address, address === range ? 'v1.0.0' : 'main', { id: `${id}` });
      await untilGatewaySync(address, 'handled', ({ status }) => status?.lastRequest?.id === `${id}`);
    }
    assert.doesNotMatch(spare.output, /transition/);
    assert.deepEqual(proxy.requests, []);
    await expectHandOver(t, { namespace, leader, spare });
    await until(() => proxy.requests.length > 0, { describe: 'the queries of the new leader' });
  });

  test('that start without a Lease, exactly one leads at once', async (t) => {
    const namespace = await createNamespace(t);
    const replicas = await Promise.all(['one', 'two'].map((name) => startReplica(t, namespace, name)));
    const leaders = () => replicas.filter(({ output }) => output.includes('became leader'));
    await until(leaders, { describe: 'a leader', accept: ({ length }) => length > 0, interval: 10 });
    const tookMs = Math.max(...leaders().map(ledAfterMs));
    t.diagnostic(`led ${tookMs} ms after the start`);
    assert.ok(tookMs < 15_000, `it waited out a Lease that there was not: ${tookMs} ms`);
    await sleep(5_000);
    assert.equal(leaders().length, 1);
    assert.equal(await holderOf(namespace), leaders()[0] === replicas[0] ? 'one' : 'two');
  });

  test('the other takes over at once, even while a git server keeps the first one waiting', slow, async (t) => {
    const { namespace, leader, spare, server, repository, commit } = await arrange(t);
    server.fault = { hang: true };
    await applyGatewaySync({ namespace, name: 'app' }, { repo: repository.url });
    await until(() => server.requests.length > 0, { describe: 'the query to be in progress' });
    // The server has 15 s to respond.
    await expectHandOver(t, { namespace, leader, spare }, 12_000);
    server.fault = undefined;
    await untilGatewaySync({ namespace, name: 'app' }, 'resolved', ({ status }) => status?.lastSyncCommit === commit);
  });

  test('the other takes over from a killed one, and finishes its work', async (t) => {
    const { namespace, leader, spare, commit, repository } = await arrange(t);
    await leader.kill();
    await applyGatewaySync({ namespace, name: 'app' }, { repo: repository.url });
    await spare.waitForLog(/became leader/);
    await untilGatewaySync({ namespace, name: 'app' }, 'resolved', ({ status }) => status?.lastSyncCommit === commit);
  });

  test('one that slept past its lease exits, and writes none of its pending changes', slow, async (t) => {
    const { namespace, leader, spare, server, repository, commit } = await arrange(t);
    const address = { namespace, name: 'app' };
    await applyGatewaySync(address, { repo: repository.url });
    await untilGatewaySync(address, 'resolved', ({ status }) => status?.lastSyncCommit === commit);
    const asked = server.requests.length;
    server.fault = { delay: 2_000, times: 1 };
    await push(address, 'main');
    await until(() => server.requests.length > asked, { describe: 'the query to be in progress' });
    process.kill(leader.pid, 'SIGSTOP');
    await until(() => server.requests[asked]?.status === 200, { describe: 'the answer lies in its socket' });
    const newer = await repository.commit({ files: { 'config/a': '2' } });
    await spare.waitForLog(/became leader/);
    const isDone = ({ status }: GatewaySync) =>
      status?.lastSyncCommit === newer && status.lastPush?.outcome === 'Applied';
    const before = await untilGatewaySync(address, 'what the other one wrote', isDone);
    process.kill(leader.pid, 'SIGCONT');
    assert.equal((await leader.exited).code, 1);
    const after = await untilGatewaySync(address, 'as it was', isDone);
    assert.equal(after.metadata.resourceVersion, before.metadata.resourceVersion);
    assert.equal(await holderOf(namespace), 'two');
  });

  test("the leader continues when its lease is deleted, and the other one doesn't lead as well", slow, async (t) => {
    const { namespace, spare } = await arrange(t);
    const holders = await followHolders(t, namespace);
    await sleep(5_000); // the spare has checked the lease
    for (let round = 0; round < 4; round += 1) {
      await kubectl('delete', 'lease', LEASE, '--namespace', namespace);
      await until(() => holderOf(namespace), { describe: 'the lease made anew' });
    }
    assert.deepEqual(new Set(holders), new Set(['one']));
    assert.doesNotMatch(spare.output, /became leader/);
  });

  test('the leader exits as soon as it sees that the other one has the lease', slow, async (t) => {
    const namespace = await createNamespace(t);
    const leader = await startReplica(t, namespace, 'one');
    await leader.waitForLog(/became leader/);
    await giveLeaseTo(namespace, 'another');
    const given = performance.now();
    assert.equal((await leader.exited).code, 1);
    const tookMs = performance.now() - given;
    t.diagnostic(`ended within ${Math.round(tookMs)} ms`);
    assert.ok(tookMs < 12_000, `its lease would have lasted for 15 s, and it ended after ${tookMs} ms`);
    assert.equal(await holderOf(namespace), 'another');
  });

  test('with the same name, only one leads', slow, async (t) => {
    const namespace = await createNamespace(t);
    const first = await startReplica(t, namespace, 'same');
    await first.waitForLog(/became leader/);
    const second = await startReplica(t, namespace, 'same');
    await sleep(5_000);
    assert.doesNotMatch(second.output, /became leader/);
    await first.stop();
    await second.waitForLog(/became leader/);
  });
});
