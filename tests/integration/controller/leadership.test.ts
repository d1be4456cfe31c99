import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
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
import {
  type Address,
  applyGatewaySync,
  push,
  request,
  untilCommit,
  untilGatewaySync,
} from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { startProgram } from '../../support/program.ts';
import { startSlowLink } from '../../support/slow-link.ts';
import { type OwnController, startController, startControllerProcess } from '../../support/start-controller.ts';
import { startProxy } from '../../support/start-proxy.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

/** A lease that passes on after seconds, as in production after 15. */
const lease = { durationMs: 5_000, giveUpMs: 3_500, retryMs: 300, checkMs: 100 };

const environmentOf = (name: string) => ({ LEADER_ELECTION: 'true', POD_NAME: name });

const startReplica = (t: TestContext, namespace: string, name: string, environment?: Record<string, string>) =>
  startController(t, namespace, { ...environmentOf(name), ...environment }, { lease });

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

const specOf = async (namespace: string) => {
  const path = groupPath('coordination.k8s.io/v1', 'leases', namespace, LEASE);
  return (await callApi<{ spec: { holderIdentity?: string; renewTime?: string } }>({ path })).spec;
};

const holderOf = async (namespace: string) => podOf((await specOf(namespace)).holderIdentity);

/** Waits for three renewals of the lease, between each of which a spare checks it. */
async function untilRenewed(namespace: string): Promise<void> {
  for (let times = 0; times < 3; times += 1) {
    const { renewTime } = await specOf(namespace);
    const read = async () => (await specOf(namespace)).renewTime;
    await until(read, { describe: 'a renewal', accept: (time) => time !== renewTime });
  }
}

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
  leader: OwnController;
  spare: OwnController;
}

/** Ends the leader, and asserts that the spare leads after the release of the lease, not after its expiry. */
async function expectHandOver(t: TestContext, { namespace, leader, spare }: Replicas) {
  const holders = await followHolders(t, namespace);
  const ended = leader.stop();
  await spare.waitForLog(/became leader/);
  await until(() => holders.at(-1) === 'two', { describe: 'the lease of the spare' });
  assert.deepEqual(holders, ['one', '', 'two']);
  assert.equal(await ended, 'signal');
}

/** Writes the lease as another replica would. */
const giveLeaseTo = (namespace: string, holderIdentity: string) =>
  kubectl(
    ...['patch', 'lease', LEASE, '--namespace', namespace, '--type=merge', '--patch'],
    JSON.stringify({ spec: { holderIdentity, leaseDurationSeconds: 15 } }),
  );

/** Starts a spare with this environment, and before it a leader. */
async function arrange(t: TestContext, environment?: Record<string, string>, leaders?: Record<string, string>) {
  const { server, repository, commit } = await serveRepository(t);
  const namespace = await createNamespace(t);
  const leader = await startReplica(t, namespace, 'one', leaders);
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
          TMPDIR: await temporaryDirectory(t, 'controller-'),
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
    for (const address of [branch, range]) await untilCommit(address, commit);
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
    await until(leaders, { describe: 'a leader', accept: ({ length }) => length > 0 });
    await untilRenewed(namespace);
    assert.equal(leaders().length, 1);
    assert.equal(await holderOf(namespace), leaders()[0] === replicas[0] ? 'one' : 'two');
  });

  test('the other takes over at once, even while a git server keeps the first one waiting', async (t) => {
    const { namespace, leader, spare, server, repository, commit } = await arrange(t);
    server.fault = { hang: true };
    await applyGatewaySync({ namespace, name: 'app' }, { repo: repository.url });
    await until(() => server.requests.length > 0, { describe: 'the query to be in progress' });
    await expectHandOver(t, { namespace, leader, spare });
    server.fault = undefined;
    await untilCommit({ namespace, name: 'app' }, commit);
  });

  test('the other takes over from one that no longer reaches the API server, and finishes its work', async (t) => {
    const { url, kubeconfig } = await connectCluster();
    const link = await startSlowLink(t, url);
    const KUBECONFIG = path.join(await temporaryDirectory(t, 'cut-off-'), 'kubeconfig');
    await writeFile(KUBECONFIG, (await readFile(kubeconfig, 'utf8')).replaceAll(url, link.url));
    const { namespace, leader, spare, commit, repository } = await arrange(t, {}, { KUBECONFIG });
    link.hold();
    await applyGatewaySync({ namespace, name: 'app' }, { repo: repository.url });
    await spare.waitForLog(/became leader/);
    await untilCommit({ namespace, name: 'app' }, commit);
    await leader.waitForLog(/the lease was lost/);
    link.cut();
  });

  test('one that slept past its lease exits, and writes none of its pending changes', slow, async (t) => {
    const { server, repository, commit } = await serveRepository(t);
    const namespace = await createNamespace(t);
    const leader = await startControllerProcess(t, namespace, environmentOf('one'));
    await leader.waitForLog(/became leader/);
    const spare = await startReplica(t, namespace, 'two');
    const address = { namespace, name: 'app' };
    await applyGatewaySync(address, { repo: repository.url });
    await untilCommit(address, commit);
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

  test("the leader continues when its lease is deleted, and the other one doesn't lead as well", async (t) => {
    const { namespace, spare } = await arrange(t);
    const holders = await followHolders(t, namespace);
    await untilRenewed(namespace);
    for (let round = 0; round < 4; round += 1) {
      await kubectl('delete', 'lease', LEASE, '--namespace', namespace);
      await until(() => holderOf(namespace), { describe: 'the lease made anew' });
    }
    assert.deepEqual(new Set(holders), new Set(['one']));
    assert.doesNotMatch(spare.output, /became leader/);
  });

  test('the leader stops as soon as it sees that the other one has the lease', async (t) => {
    const namespace = await createNamespace(t);
    const long = { ...lease, durationMs: 600_000, giveUpMs: 500_000 };
    const leader = await startController(t, namespace, environmentOf('one'), { lease: long });
    await leader.waitForLog(/became leader/);
    await giveLeaseTo(namespace, 'another');
    assert.equal(await leader.ended, 'leaseLost');
    assert.equal(await holderOf(namespace), 'another');
  });

  test('with the same name, only one leads', async (t) => {
    const namespace = await createNamespace(t);
    const first = await startReplica(t, namespace, 'same');
    await first.waitForLog(/became leader/);
    const second = await startReplica(t, namespace, 'same');
    await untilRenewed(namespace);
    assert.doesNotMatch(second.output, /became leader/);
    await first.stop();
    await second.waitForLog(/became leader/);
  });
});
