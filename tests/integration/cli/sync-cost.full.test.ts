import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import { applyGatewaySync } from '../../support/gateway-syncs.ts';
import { runCli } from '../../support/run-cli.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { untilPermitted } from '../../support/until-permitted.ts';

/** A relay to the API server that counts requests by resource. */
async function countCalls(t: TestContext, namespace: string) {
  const cluster = await connectCluster();
  const counts: Record<string, number> = {};
  const server = createServer((incoming, outgoing) => {
    const [, resource = ''] = /\/(gatewaysyncs|syncreports|pods)(?:[/?]|$)/.exec(incoming.url ?? '') ?? [];
    if (incoming.method === 'GET') counts[resource] = (counts[resource] ?? 0) + 1;
    const { method, headers } = incoming;
    const upstream = request(new URL(incoming.url ?? '', cluster.url), { method, headers, rejectUnauthorized: false });
    upstream.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(upstream);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  const directory = await temporaryDirectory(t, 'count-');
  await cluster.kubectl(
    ...['create', 'rolebinding', 'all', '-n', namespace, '--clusterrole=cluster-admin'],
    `--serviceaccount=${namespace}:default`,
  );
  const direct = await cluster.kubeconfigFor({ namespace, serviceAccount: 'default' });
  await untilPermitted(direct, gatewaySyncPath(namespace));
  const given = JSON.parse(await readFile(direct, 'utf8'));
  const kubeconfig = path.join(directory, 'kubeconfig');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
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
