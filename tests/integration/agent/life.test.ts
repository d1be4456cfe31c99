import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { slow } from '../../support/depth.ts';
import { shareGitServer } from '../../support/git-server-for.ts';
import { startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { createGatewayPod, startSyncedPod } from './support/gateway-pod.ts';

const server = await shareGitServer();

suite('a running agent', () => {
  test('waits for its permissions, and continues after it gets them', slow, async (t) => {
    const repository = await server.createRepository('rights');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t, { bound: false });
    await pod.setSpec(repository.url);
    await pod.settle(commit);
    const agent = await pod.start();
    await agent.waitForLog(/report not written/);
    assert.deepEqual(await pod.files(), {});
    await pod.bind();
    await pod.untilSynced(commit);
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
    assert.match(message ?? '', /\bshutting down\b/);
  });

  test('lists everything that is wrong with its environment, and exits with 1', async (t) => {
    const program = startProgram(t, 'dist/agent.mjs', { env: { HEALTH_PORT: 'x', DATA_PATH: 'data', POD_NAME: 'p' } });
    assert.equal((await program.exited).code, 1);
    for (const name of ['POD_NAMESPACE', 'POD_UID', 'CR_NAME', 'DATA_PATH', 'HEALTH_PORT']) {
      assert.match(program.output, new RegExp(`${name}: must`));
    }
  });
});
