import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi, connectCluster, createNamespace } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { applyGatewaySync, patchResource, patchStatus, request } from '../../support/gateway-syncs.ts';
import { runCli } from '../../support/run-cli.ts';
import { until } from '../../support/until.ts';
import { startRelay } from './start-relay.ts';

type Host = NonNullable<Parameters<typeof runCli>[1]>;

/** A resource without a controller, unless a test starts one. */
async function arrange(t: TestContext, ref = 'main', repo = 'https://git.example/x') {
  const address = { namespace: await createNamespace(t), name: 'app' };
  await applyGatewaySync(address, { repo, ref });
  const { kubeconfig } = await connectCluster();
  const resource = gatewaySyncPath(address.namespace, address.name);
  return {
    address,
    resource,
    stoker: (line: string[], host: Host = {}, config = kubeconfig) =>
      runCli([...line, '-n', address.namespace, '--kubeconfig', config], host),
    requested: async () => {
      const { metadata } = await callApi<GatewaySync>({ path: resource });
      return metadata.annotations?.['sync.io/requested-ref'];
    },
  };
}

suite('kubectl stoker sync requests', { concurrency: 4 }, () => {
  test('nothing in place of an open request without a confirmation', async (t) => {
    const { address, stoker, requested } = await arrange(t);
    await request(address, 'next');
    const silent = await stoker(['sync', 'app']);
    assert.equal(silent.status, 64, silent.notes);
    assert.match(silent.notes, /app: .* next by github at .* main\b/);
    assert.match(silent.notes, /nothing was changed: without a terminal to confirm on, add --yes/);
    const declined = await stoker(['sync', 'app'], { confirm: async () => false });
    assert.equal(declined.status, 1, declined.notes);
    assert.equal(await requested(), 'next');

    const same = await stoker(['sync', 'app', '--ref', 'next']);
    assert.equal(same.status, 0, same.notes);

    const questions: string[] = [];
    const confirm = async (question: string) => {
      questions.push(question);
      if (questions.length === 1) await request(address, 'later');
      return true;
    };
    const agreed = await stoker(['sync', 'app'], { confirm });
    assert.equal(agreed.status, 0, agreed.notes);
    assert.equal(questions.length, 2);
    assert.match(agreed.notes, /open request for later by .* at/);
    assert.equal(await requested(), 'main');

    const forced = await stoker(['sync', 'app', '--ref', 'v3', '--yes']);
    assert.equal(forced.status, 0, forced.notes);
    assert.match(forced.notes, /request for main by kubectl-stoker-refresh .*\nrequested v3/);
    assert.equal(await requested(), 'v3');
  });

  test('a ref without printing its control characters', async (t) => {
    const { address, stoker, requested } = await arrange(t);
    await patchResource(address, { spec: { git: { ref: 'main\u009b2J\u202egnp' } } });
    const { status, notes } = await stoker(['sync', 'app']);
    assert.equal(status, 0, notes);
    assert.match(notes, /^requested main\ufffd2J\ufffdgnp /);
    assert.equal(await requested(), 'main\u009b2J\u202egnp');
  });
});

suite('a broken connection', { concurrency: 2 }, () => {
  for (const line of [
    ['sync', 'app', '--wait'],
    ['trace', 'app'],
  ]) {
    test(`doesn't end ${line.join(' ')}`, slow, async (t) => {
      const [{ address, resource, stoker }, { kubeconfig, link }] = await Promise.all([arrange(t), startRelay(t)]);
      const begins = Promise.withResolvers<void>();
      let output = '';
      const host: Host = {
        note: () => begins.resolve(),
        print: (text) => {
          output += text;
        },
      };
      const waiting = stoker([...line, '--timeout', '60s'], host, kubeconfig);
      await begins.promise;
      link.refuse();
      await until(() => link.refused >= 2, { describe: 'two that were sent away' });
      const { metadata } = await callApi<GatewaySync>({ path: resource });
      const { annotations = {}, generation } = metadata;
      const time = new Date().toISOString();
      const ready = { type: 'Ready', status: 'True', reason: 'Synced', message: 'x', lastTransitionTime: time };
      const status = {
        observedGeneration: generation,
        target: { ref: 'main', source: 'Spec' },
        lastSyncRef: 'refs/heads/main',
        lastSyncCommit: 'c0ffee11'.repeat(5),
        lastSyncTime: time,
        lastRequest: { ref: 'main', at: annotations['sync.io/requested-at'] ?? time, outcome: 'Applied' },
        conditions: [ready],
      };
      await patchStatus(address, status);
      link.accept();
      assert.equal((await waiting).status, 0, output);
    });
  }
});
