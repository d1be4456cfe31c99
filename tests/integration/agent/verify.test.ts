import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { type GitServer, startGitServer } from '../../../scripts/testbed/git-server.ts';
import type { SyncReportStatus } from '../../../shared/api/sync-report.ts';
import { syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { slow } from '../../support/depth.ts';
import { startFakeIgnition } from '../../support/fake-ignition.ts';
import { until } from '../../support/until.ts';
import { createGatewayPod } from './support/gateway-pod.ts';

let server: GitServer;
before(async () => {
  server = await startGitServer();
});
after(() => server.stop());

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
  const gateway = await startFakeIgnition();
  t.after(() => gateway.stop());
  const pod = await createGatewayPod(t);
  const untilStatus = async (describe: string, accept: (status: SyncReportStatus) => boolean) => {
    const { status } = await pod.untilReport(
      describe,
      (report) => report.status !== undefined && accept(report.status),
    );
    assert.ok(status);
    return status;
  };
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
    /** Starts another agent, and waits until it reports the gateway's health. */
    restart: async () => {
      const reportPath = syncReportPath(pod.namespace, 'gateway-0');
      await pod.client.mergePatch(reportPath, { status: { agentVersion: 'of the last agent' } });
      await start();
      return await untilStatus('a report of the next agent', ({ agentVersion, verification }) => {
        return agentVersion !== 'of the last agent' && verification !== undefined;
      });
    },
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
      await pod.client.get<{ metadata: { generation: number } }>(
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
      const words = 'the gateway responded with 503 to GET /health';
      const running = await untilStatus(
        'words',
        ({ message }) => message?.endsWith(`last check failed: ${words}`) ?? false,
      );
      assert.deepEqual([running.state, running.verification], ['Synced', 'Running']);
      const failed = await untilIs('Failed');
      assert.equal(failed.state, 'Synced');
      assert.equal(failed.message, `gateway unhealthy on commit ${commit} (main): ${words}`);
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

  test('fails with the connection error if the gateway stops after it was healthy', slow, async (t) => {
    const { gateway, start, untilIs, setSpec } = await arrange(t);
    await setSpec(specOf({ for: '1h' }));
    await start();
    const running = await untilIs('Running');
    assert.deepEqual([running.state, running.message], ['Synced', undefined]);
    await gateway.stop();
    const { message } = await untilIs('Failed');
    assert.match(
      message ?? '',
      /does not respond on port \d+, which was spec.gateway.port when the pod was created \((ECONNREFUSED|ECONNRESET)\) \(GET \/health\)$/,
    );
  });

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

  test('stops during a pause, and starts from the beginning after it', slow, async (t) => {
    const { gateway, start, untilIs, untilStatus, setSpec } = await arrange(t);
    gateway.faults['/health'] = 'hang';
    await setSpec(specOf({ for: '1s' }));
    await start();
    await untilIs('Running');
    await until(() => gateway.hanging === 1, { describe: 'a look that hangs' });
    await setSpec(specOf({ for: '1s' }, { paused: true }));
    await until(() => gateway.hanging === 0, { describe: 'the end of the look' });
    const paused = await untilStatus('a pause', ({ state }) => state === 'Paused');
    assert.equal(paused.verification, undefined);
    gateway.faults = {};
    await setSpec(specOf({ for: '1s' }));
    await untilIs('Passed');
  });

  test("doesn't delay the checks of the files", slow, async (t) => {
    const { gateway, pod, start, untilIs, setSpec } = await arrange(t);
    gateway.faults['/health'] = 'hang';
    await setSpec(specOf({ for: '1s' }));
    await start();
    await untilIs('Running');
    await until(() => gateway.hanging === 1, { describe: 'a look that hangs' });
    const file = path.join(pod.data, 'config/a');
    await writeFile(file, 'drift');
    await until(() => readFile(file, 'utf8'), { describe: 'a repair', accept: (text) => text === '1' });
    assert.equal(gateway.hanging, 1, 'it still is');
  });
});

suite('the verification after a restart of the agent', () => {
  test('begins again if it was in progress', slow, async (t) => {
    const { gateway, looks, start, untilIs, setSpec, restart } = await arrange(t);
    // It stays in progress as long as the gateway is unhealthy.
    gateway.faults['/health'] = { status: 503 };
    await setSpec(specOf({ for: '2s', failureThreshold: 100 }));
    const agent = await start();
    await untilIs('Running');
    await until(() => looks() >= 2, { describe: 'a second look' });
    await agent.kill();
    gateway.calls.length = 0;
    assert.equal((await restart()).verification, 'Running');
    gateway.faults = {};
    await untilIs('Passed');
    assert.ok(looks() >= 2 && looks() === gateway.calls.length, 'looks only, and not just one');
  });

  test("isn't repeated if it had passed", slow, async (t) => {
    const { gateway, start, untilIs, setSpec, restart } = await arrange(t);
    await setSpec(specOf({ for: '0s' }));
    const agent = await start();
    await untilIs('Passed');
    await agent.kill();
    gateway.calls.length = 0;
    gateway.faults['/health'] = { status: 503 };
    assert.equal((await restart()).verification, 'Passed');
    assert.deepEqual(gateway.calls, []);
  });

  test('neither forgets a failure nor repeats it', async (t) => {
    const { gateway, start, untilIs, setSpec, restart } = await arrange(t);
    gateway.faults['/health'] = { status: 503 };
    await setSpec(specOf({ for: '0s', failureThreshold: 1 }));
    const agent = await start();
    const { message } = await untilIs('Failed');
    await agent.kill();
    gateway.calls.length = 0;
    gateway.faults = {};
    const after = await restart();
    assert.deepEqual([after.verification, after.message], ['Failed', message]);
    assert.deepEqual(gateway.calls, []);
  });

  test('is repeated for a commit that had passed, if another one was on disk in between', slow, async (t) => {
    const { repository, commit, gateway, pod, start, untilIs, setSpec } = await arrange(t);
    await setSpec(specOf({ for: '0s' }));
    const agent = await start();
    await untilIs('Passed');
    gateway.faults['/health'] = 'hang';
    const newer = await repository.commit({ files: { 'config/a': '2' } });
    await pod.settle(newer);
    await untilIs('Running', newer);
    await agent.kill();
    gateway.faults = {};
    gateway.calls.length = 0;
    await pod.settle(commit);
    await start();
    await untilIs('Passed', commit);
    assert.deepEqual(
      gateway.calls.map(({ line }) => line),
      ['POST /reload', LOOK],
    );
  });
});
