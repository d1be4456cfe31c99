import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import { applyGatewaySync } from '../../support/gateway-syncs.ts';
import { startHttpHost } from '../../support/http-host.ts';
import { runCli } from '../../support/run-cli.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { untilPermitted } from '../../support/until-permitted.ts';

/** A relay to the API server that counts requests by resource. */
async function countCalls(t: TestContext, namespace: string) {
  const cluster = await connectCluster();
  const counts: Record<string, number> = {};
  const url = await startHttpHost(t, (incoming, outgoing) => {
    const [, resource = ''] = /\/(gatewaysyncs|syncreports|pods)(?:[/?]|$)/.exec(incoming.url ?? '') ?? [];
    if (incoming.method === 'GET') counts[resource] = (counts[resource] ?? 0) + 1;
    const { method, headers } = incoming;
    const upstream = request(new URL(incoming.url ?? '', cluster.url), { method, headers, rejectUnauthorized: false });
    upstream.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(upstream);
  });
  const directory = await temporaryDirectory(t, 'count-');
  await cluster.kubectl(
    ...['create', 'rolebinding', 'all', '-n', namespace, '--clusterrole=cluster-admin'],
    `--serviceaccount=${namespace}:default`,
  );
  const direct = await cluster.kubeconfigFor({ namespace, serviceAccount: 'default' });
  await untilPermitted(direct, gatewaySyncPath(namespace));
  const given = JSON.parse(await readFile(direct, 'utf8'));
  const kubeconfig = path.join(directory, 'kubeconfig');
  given.clusters[0].cluster = { server: url, 'insecure-skip-tls-verify': true };
  await writeFile(kubeconfig, JSON.stringify(given));
  return { counts, kubeconfig };
}

suite('kubectl stoker sync --wait', { concurrency: 2 }, () => {
  /** Enough for several reads on a slow machine. */
  const SECONDS = 10;
  const waitFor = (kubeconfig: string) =>
    runCli(['sync', 'plant', '--wait', '--timeout', `${SECONDS}s`, '--kubeconfig', kubeconfig]);

  test('lists no reports and pods while the resource is unchanged', async (t) => {
    const namespace = await createNamespace(t);
    const { counts, kubeconfig } = await countCalls(t, namespace);
    await applyGatewaySync({ namespace, name: 'plant' }, { repo: 'https://git.example/x' });
    const { status, notes } = await waitFor(kubeconfig);
    assert.equal(status, 1, notes);
    assert.deepEqual([counts.syncreports, counts.pods], [1, 1], JSON.stringify(counts));
    assert.ok((counts.gatewaysyncs ?? 0) > 2, JSON.stringify(counts));
  });
});
