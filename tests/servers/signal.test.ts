import assert from 'node:assert/strict';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { freePort } from '../../scripts/testbed/free-port.ts';
import { startGuarded } from '../../scripts/testbed/guarded-process.ts';
import { createGatewayPod } from '../integration/agent/support/gateway-pod.ts';
import { shareGitServer } from '../support/git-server-for.ts';
import { until } from '../support/until.ts';
import { makeProcessNamespace, namespaceObstacle, WITHOUT_CAPABILITIES } from './process-namespace.ts';

const git = await shareGitServer();

const spec = {
  sync: { profiles: { default: { mappings: [{ source: 'config', destination: 'config' }], syncPeriod: 5 } } },
  gateway: { reload: { signal: { name: 'SIGHUP', process: 'node' } } },
};

/** A pod with a gateway and its agent in one process namespace, which both are named `node`. */
async function arrange(t: TestContext, name: string, { asUser = [] as string[], isShared = true } = {}) {
  const repository = await git.createRepository(name);
  const first = await repository.commit({ files: { 'config/a': '1' } });
  const { container } = await makeProcessNamespace(t);
  const port = await freePort();
  const pod = await createGatewayPod(t);
  await pod.setSpec(repository.url, spec);
  await pod.settle(first);
  const program = path.join(import.meta.dirname, 'node-gateway.ts');
  const log = path.join(pod.repo, '..', 'gateway.log');
  const argv = [...container, ...asUser, process.execPath, program, String(port)];
  return {
    repository,
    pod,
    first,
    signals: async () => Number(await (await fetch(`http://127.0.0.1:${port}`)).text()),
    startAgent: () =>
      pod.start({ SHARE_PROCESS_NAMESPACE: String(isShared) }, { within: [...container, ...WITHOUT_CAPABILITIES] }),
    startGateway: () => startGuarded('/usr/bin/env', argv, { output: { log } }),
  };
}

suite('in a shared process namespace', { skip: await namespaceObstacle() }, () => {
  test('the gateway gets the signal, although the agent is the oldest process of that name', async (t) => {
    const { repository, pod, first, signals, startAgent, startGateway } = await arrange(t, 'oldest');
    await startAgent();
    await pod.untilReport('a gateway that has not started', ({ status }) =>
      /no process named node runs in the other containers/.test(status?.message ?? ''),
    );
    assert.equal((await pod.report()).status?.state, 'Pending');
    startGateway();
    await pod.untilSynced(first);
    assert.equal(await until(signals, { describe: 'an answer', accept: Number.isInteger }), 0);
    for (const version of [1, 2]) {
      const commit = await repository.commit({ files: { 'config/a': `changed ${version}` } });
      await pod.settle(commit);
      await pod.untilSynced(commit);
      await until(signals, { describe: `${version} signals`, accept: (count) => count === version });
    }
  });

  test('the report names both users if they differ', async (t) => {
    const asUser = ['setpriv', '--reuid=101', '--regid=101', '--clear-groups'];
    const { pod, startAgent, startGateway, signals } = await arrange(t, 'users', { asUser });
    startGateway();
    await until(signals, { describe: 'a gateway', accept: Number.isInteger });
    await startAgent();
    const { status } = await pod.untilReport('an error', ({ status: { state } = {} }) => state === 'Error');
    assert.match(status?.message ?? '', /runs as user 101 and the agent as user 0, .*securityContext\.runAsUser/);
    assert.equal(await signals(), 0);
    assert.deepEqual(await pod.files(), { 'config/a': '1' });
  });
});

suite('without a shared process namespace', { skip: await namespaceObstacle() }, () => {
  test('the report says what to set, and no process of that name gets the signal', async (t) => {
    const { pod, startAgent, startGateway, signals } = await arrange(t, 'unshared', { isShared: false });
    startGateway();
    await until(signals, { describe: 'a gateway', accept: Number.isInteger });
    await startAgent();
    const { status } = await pod.untilReport('an error', ({ status: { state } = {} }) => state === 'Error');
    assert.match(status?.message ?? '', /spec\.gateway\.reload\.signal requires shareProcessNamespace: true/);
    assert.equal(await signals(), 0);
  });
});
