import assert from 'node:assert/strict';
import { copyFile, readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { type Certificates, createCertificates } from '../../../scripts/testbed/certificates.ts';
import { clientOf } from '../../../scripts/testbed/client-of.ts';
import { writeKubeconfig } from '../../../scripts/testbed/cluster-access.ts';
import { findBinaries } from '../../../scripts/testbed/find-binaries.ts';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import { startGuarded } from '../../../scripts/testbed/guarded-process.ts';
import { makeTemporaryDirectory } from '../../../scripts/testbed/temporary-directory.ts';
import { ApiError } from '../../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { connectCluster } from '../../support/cluster.ts';
import { openPort } from '../../support/open-port.ts';
import { startSlowLink } from '../../support/slow-link.ts';
import { until } from '../../support/until.ts';

async function clientThrough(server: string): Promise<KubernetesClient> {
  const { kubeconfig } = await connectCluster();
  return clientOf(kubeconfig, { userAgent: 'test', maxSockets: 1 }, server);
}

async function startLink(t: TestContext) {
  const { url } = await connectCluster();
  const link = await startSlowLink(t, url);
  const client = await clientThrough(link.url);
  t.after(() => client.close());
  return { link, client };
}

suite('a request to the API server', () => {
  test("that isn't answered ends at its timeout, and its connection isn't reused", async (t) => {
    const { link, client } = await startLink(t);
    await client.getAs('/version');
    link.hold();
    const started = performance.now();
    await assert.rejects(client.getAs('/version', { timeoutMs: 300 }), { code: 'ETIMEDOUT' });
    assert.ok(performance.now() - started >= 290, 'not before its time');
    link.release();
    await client.getAs('/version', { timeoutMs: 10_000 });
  });

  test('whose response begins and never ends has the same timeout', async (t) => {
    const { client } = await startLink(t);
    const watch = { method: 'GET', path: '/api/v1/namespaces', query: { watch: true }, timeoutMs: 300 } as const;
    await assert.rejects(client.request(watch), { code: 'ETIMEDOUT' });
    await client.getAs('/version');
  });

  test('ends at once when its caller aborts it', async (t) => {
    const { link, client } = await startLink(t);
    await client.getAs('/version');
    link.hold();
    const giveUp = new AbortController();
    const call = client.getAs('/version', { signal: giveUp.signal });
    giveUp.abort();
    await assert.rejects(call, { name: 'AbortError' });
  });

  test('is sent again if the idle connection is gone', async (t) => {
    const { link, client } = await startLink(t);
    await client.getAs('/version');
    link.cut();
    await client.getAs('/version');
  });

  test('that fails reports the error, and releases the only connection', async (t) => {
    const { client } = await startLink(t);
    const path = '/api/v1/namespaces/default';
    await assert.rejects(client.request({ method: 'GET', path: `${path}/pods/none` }), (error) => {
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.status, error.reason, error.objectName], [404, 'NotFound', 'none']);
      return true;
    });
    for (let call = 0; call < 3; call++) await client.request({ method: 'GET', path, query: { timeout: '5s' } });
  });
});

test('an API server below a path is called there', async (t) => {
  const { kubeconfig } = await connectCluster();
  const { kubectl } = await findBinaries('kubectl');
  const port = String(await freePort());
  const args = ['proxy', '--kubeconfig', kubeconfig, '--port', port, '--api-prefix', '/clusters/one/'];
  const proxy = startGuarded(kubectl, args, { output: 'pipe' });
  t.after(() => proxy.stop());
  for (const slash of ['', '/']) {
    const client = await clientThrough(`http://127.0.0.1:${port}/clusters/one${slash}`);
    const namespace = await until(
      () => client.getAs<{ kind: string }>('/api/v1/namespaces/default', { query: { pretty: undefined } }),
      { describe: 'kubectl proxy answers' },
    );
    assert.equal(namespace.kind, 'Namespace');
  }
});

test('a server whose CA was replaced is trusted as soon as the file contains the new one', async (t) => {
  const directories = await Promise.all(['old-', 'new-'].map((name) => makeTemporaryDirectory(name)));
  t.after(() => Promise.all(directories.map((directory) => directory.remove())));
  const [before, after] = (await Promise.all(directories.map((directory) => createCertificates(directory.path)))) as [
    Certificates,
    Certificates,
  ];
  const pair = async ({ certFile, keyFile }: Certificates) => ({
    cert: await readFile(certFile),
    key: await readFile(keyFile),
  });
  const server = createServer(await pair(before), (_, response) => response.end('{}'));
  const url = `https://127.0.0.1:${await openPort(t, server)}`;
  const file = path.join(path.dirname(before.caFile), 'kubeconfig');
  const client = clientOf(await writeKubeconfig(file, { url, caFile: before.caFile, token: 'none' }), {
    userAgent: 'test',
  });
  t.after(() => client.close());
  await client.getAs('/version');
  server.setSecureContext(await pair(after));
  server.closeAllConnections();
  await assert.rejects(client.getAs('/version'), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
  await copyFile(after.caFile, before.caFile);
  await client.getAs('/version');
});
