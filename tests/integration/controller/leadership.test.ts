import assert from 'node:assert/strict';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { writeKubeconfig } from '../../../scripts/testbed/cluster-access.ts';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import { startGitServer } from '../../../scripts/testbed/git-server.ts';
import { makeTemporaryFolder } from '../../../scripts/testbed/temporary-folder.ts';
import { connectCluster, createNamespace, kubectl } from '../../support/cluster.ts';
import { applyGatewaySync, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { startProgram } from '../../support/program.ts';
import { startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';

const startReplica = (t: TestContext, namespace: string, name: string) =>
  startController(t, namespace, { LEADER_ELECTION: 'true', POD_NAME: name });

/** A kubeconfig that leads to a port at which nobody listens. */
async function unreachableKubeconfig(t: TestContext): Promise<string> {
  const folder = await makeTemporaryFolder('unreachable-');
  t.after(() => folder.remove());
  const { caFile } = await connectCluster();
  const url = `https://127.0.0.1:${await freePort()}`;
  return writeKubeconfig(path.join(folder.path, 'kubeconfig'), { url, caFile, token: 'none' });
}

const holderOf = (namespace: string) =>
  kubectl(
    'get',
    'lease',
    'stoker-operator-controller',
    '--namespace',
    namespace,
    '--output',
    'jsonpath={.spec.holderIdentity}',
  );

async function arrange(t: TestContext) {
  const server = await startGitServer();
  t.after(() => server.stop());
  const repository = await server.createRepository('app');
  const commit = await repository.commit({ files: { 'config/a': '1' } });
  const namespace = await createNamespace(t);
  const leader = await startReplica(t, namespace, 'one');
  await leader.waitForLog(/became leader/);
  const spare = await startReplica(t, namespace, 'two');
  return { namespace, leader, spare, commit, repository };
}

suite('a controller', () => {
  test('ends when it is told to, also while the API server is away', async (t) => {
    const controller = startProgram(t, 'dist/controller.mjs', {
      env: {
        KUBECONFIG: await unreachableKubeconfig(t),
        LEADER_ELECTION: 'false',
        WEBHOOK_PORT: '0',
        METRICS_PORT: '0',
        HEALTH_PORT: String(await freePort()),
      },
    });
    await controller.waitForLog(/watch interrupted/);
    assert.equal((await controller.stop()).code, 0);
  });
});

suite('of two controllers', { concurrency: 4 }, () => {
  test('one leads, and hands over when it ends', async (t) => {
    const { namespace, leader, spare, commit, repository } = await arrange(t);
    assert.equal(await holderOf(namespace), 'one');
    await applyGatewaySync({ namespace, name: 'app' }, { repo: repository.url });
    await untilGatewaySync({ namespace, name: 'app' }, 'resolved', ({ status }) => status?.lastSyncCommit === commit);
    assert.doesNotMatch(spare.output, /transition/);
    const { code } = await leader.stop();
    assert.equal(code, 0);
    await spare.waitForLog(/became leader/, 4_000);
    assert.equal(await holderOf(namespace), 'two');
  });

  test('the other takes over from one that was killed, and does what was left', async (t) => {
    const { namespace, leader, spare, commit, repository } = await arrange(t);
    await leader.kill();
    await applyGatewaySync({ namespace, name: 'app' }, { repo: repository.url });
    await spare.waitForLog(/became leader/, 25_000);
    await untilGatewaySync({ namespace, name: 'app' }, 'resolved', ({ status }) => status?.lastSyncCommit === commit);
  });

  test('one that was asleep while its lease ran out ends instead of writing', async (t) => {
    const { namespace, leader, spare } = await arrange(t);
    process.kill(leader.pid, 'SIGSTOP');
    await spare.waitForLog(/became leader/, 25_000);
    process.kill(leader.pid, 'SIGCONT');
    const { code } = await leader.exited;
    assert.equal(code, 1);
    await until(() => holderOf(namespace), { describe: 'the holder', accept: (holder) => holder === 'two' });
  });
});
