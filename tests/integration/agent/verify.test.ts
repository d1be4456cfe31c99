import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import type { SyncReportStatus } from '../../../shared/api/sync-report.ts';
import { syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { slow } from '../../support/depth.ts';
import { startFakeIgnition } from '../../support/fake-ignition.ts';
import { shareGitServer } from '../../support/git-server-for.ts';
import { until } from '../../support/until.ts';
import { createGatewayPod } from './support/gateway-pod.ts';

const server = await shareGitServer();

const LOOK = 'GET /health';

/** Five minutes for each call: one that hangs does so for the whole test. */
const reload = { preset: 'none', requests: [{ method: 'POST', path: '/reload' }], timeout: '5m' };
const mappings = [{ source: 'config', destination: 'config' }];
const specOf = (verify: object | undefined, more: object = {}) => ({
  gateway: { reload, ...(verify && { verify: { requests: [{ path: '/health' }], interval: '1s', ...verify } }) },
  sync: { defaults: { syncPeriod: 5 }, profiles: { default: { mappings } } },
  ...more,
});
let repositories = 0;

/** A pod with a gateway that runs, and a repository with one commit. */
async function arrange(t: TestContext) {
  const repository = await server.createRepository(`verify-${++repositories}`);
  const commit = await repository.commit({ files: { 'config/a': '1' } });
  const gateway = await startFakeIgnition(t);
  const pod = await createGatewayPod(t);
  const { untilStatus } = pod;
  const start = () => pod.start({ GATEWAY_PORT: String(gateway.port) });
  return {
    repository,
    commit,
    gateway,
    pod,
    start,
    untilStatus,
    looks: () => gateway.calls.filter(({ line }) => line === LOOK).length,
    setSpec: async (spec: object, settledOn = commit) => {
      await pod.setSpec(repository.url, spec);
      await pod.settle(settledOn);
    },
    untilIs: (verification: SyncReportStatus['verification'], verified = commit) =>
      untilStatus(
        `${verification} of ${verified}`,
        (status) => status.verification === verification && status.commit === verified,
      ),
  };
}

suite('the verification of a gateway', () => {
  test('passes when the gateway was healthy for the configured time after its notification', async (t) => {
    const { gateway, pod, start, untilIs, untilStatus, setSpec } = await arrange(t);
    await setSpec(specOf({ for: '2s' }));
    await start();
    const passed = await untilIs('Passed');
    assert.deepEqual([passed.state, passed.message, passed.files?.added], ['Synced', undefined, 1]);
    const [first, ...others] = gateway.calls.map(({ line }) => line);
    assert.equal(first, 'POST /reload');
    assert.ok(others.length >= 2 && others.every((line) => line === LOOK), others.join());
    await setSpec(specOf(undefined));
    const { generation } = (
      await pod.client.getAs<{ metadata: { generation: number } }>(
        `/apis/sync.io/v1alpha1/namespaces/${pod.namespace}/gatewaysyncs/gw`,
      )
    ).metadata;
    const without = await untilStatus('a report without it', (status) => status.generation === generation);
    assert.equal('verification' in without, false);
  });

  test(
    'fails after the configured number of failed checks in a row, with a message; only an edit starts another',
    slow,
    async (t) => {
      const { commit, gateway, pod, looks, start, untilIs, untilStatus, setSpec } = await arrange(t);
      gateway.faults['/health'] = { status: 503 };
      const verify = { for: '1s', interval: '5s' };
      await setSpec(specOf(verify));
      await start();
      const running = await untilStatus('the message', ({ message }) => / 503 .* GET \/health$/.test(message ?? ''));
      assert.deepEqual([running.state, running.verification], ['Synced', 'Running']);
      const failed = await untilIs('Failed');
      assert.equal(failed.state, 'Synced');
      assert.match(failed.message ?? '', new RegExp(` ${commit} \\(main\\): .* 503 .* GET /health$`));
      assert.equal(looks(), 3);
      gateway.faults = {};
      const file = path.join(pod.data, 'config/a');
      await writeFile(file, 'drift');
      await until(() => readFile(file, 'utf8'), { describe: 'a repair', accept: (text) => text === '1' });
      await untilStatus('a report of the repair', ({ files }) => files?.modified === 1);
      assert.equal((await pod.report()).status?.verification, 'Failed');
      assert.equal(looks(), 3);
      await setSpec(specOf(verify, { polling: { enabled: true } }));
      await untilIs('Passed');
    },
  );

  test('starts again for a newer commit, and the running check stops at once', slow, async (t) => {
    const { repository, gateway, pod, start, untilIs, setSpec } = await arrange(t);
    gateway.faults['/health'] = 'hang';
    await setSpec(specOf({ for: '1s' }));
    await start();
    await untilIs('Running');
    await until(() => gateway.hanging === 1, { describe: 'a look that hangs' });
    const newer = await repository.commit({ files: { 'config/a': '2' } });
    gateway.faults = {};
    await pod.settle(newer);
    await until(() => gateway.hanging === 0, { describe: 'the end of the look' });
    await untilIs('Passed', newer);
    assert.deepEqual(await pod.files(), { 'config/a': '2' });
  });

  test('after a restart of the agent neither forgets a failure nor repeats it', async (t) => {
    const { gateway, pod, start, untilIs, untilStatus, setSpec } = await arrange(t);
    gateway.faults['/health'] = { status: 503 };
    await setSpec(specOf({ for: '0s', failureThreshold: 1 }));
    const agent = await start();
    const { message } = await untilIs('Failed');
    await agent.kill();
    gateway.calls.length = 0;
    gateway.faults = {};
    const reportPath = syncReportPath(pod.namespace, 'gateway-0');
    await pod.client.mergePatch(reportPath, { status: { agentVersion: 'of the last agent' } });
    await start();
    const after = await untilStatus('a report of the next agent', ({ agentVersion, verification }) => {
      return agentVersion !== 'of the last agent' && verification !== undefined;
    });
    assert.deepEqual([after.verification, after.message], ['Failed', message]);
    assert.deepEqual(gateway.calls, []);
  });
});
