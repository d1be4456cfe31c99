import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import { startFakeIgnition } from '../../support/fake-ignition.ts';
import { shareGitServer } from '../../support/git-server-for.ts';
import { until } from '../../support/until.ts';
import { createGatewayPod } from './support/gateway-pod.ts';

const server = await shareGitServer();

const reload = (fields: object) => ({ gateway: { reload: { preset: 'none', ...fields } } });

suite('a gateway that has to be notified of changes', () => {
  test('is allowed to start before that, but shows as Synced only afterwards', async (t) => {
    const repository = await server.createRepository('first-boot');
    const commit = await repository.commit({ files: { 'config/a': '1' } });
    const pod = await createGatewayPod(t);
    await pod.setSpec(repository.url, reload({ readyPath: '/ready', requests: [{ path: '/reload' }] }));
    await pod.settle(commit);
    const port = await freePort();
    const agent = await pod.start({ GATEWAY_PORT: String(port) });
    const { status } = await pod.untilReport('Pending', (report) => report.status?.commit === commit);
    assert.equal(status?.state, 'Pending');
    assert.match(status?.message ?? '', / port \d+\b/);
    assert.equal((await fetch(`${agent.healthUrl}/readyz`)).status, 200);
    const gateway = await startFakeIgnition(t, port);
    const report = await pod.untilSynced(commit);
    assert.equal(report.status?.message, undefined);
    assert.equal(report.status?.files?.added, 1);
    assert.deepEqual(
      gateway.calls.map(({ line }) => line),
      ['GET /ready', 'POST /reload'],
    );
    await until(async () => await (await fetch(`${agent.metricsUrl}/metrics`)).text(), {
      describe: 'the reload in the metrics',
      accept: (page) => /sync_agent_reloads_total\{result="success"\} 1/.test(page),
    });
  });
});
