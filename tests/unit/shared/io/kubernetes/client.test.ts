import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { KubernetesClient } from '../../../../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../../../../shared/io/kubernetes/credentials.ts';

/** A client of a server that is no API server, and what it says of its calls. */
async function arrange(t: TestContext, listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'c', server: `http://127.0.0.1:${port}`, skipTLSVerify: true }, { name: 'u' });
  const codes: number[] = [];
  const onCall = (_: string, code: number) => void codes.push(code);
  const client = new KubernetesClient(new ApiCredentials(config), { userAgent: 'test', onCall });
  t.after(() => {
    client.close();
    server.close().closeAllConnections();
  });
  return { client, codes };
}

suite('a call is counted once', () => {
  test('by the status of its answer, also where that breaks off', async (t) => {
    const { client, codes } = await arrange(t, (_, response) => {
      response.writeHead(500, { 'Content-Length': 100 }).write('{"kind":');
      setImmediate(() => response.destroy());
    });
    await assert.rejects(client.get('/version'), { code: 'ECONNRESET' });
    assert.deepEqual(codes, [500]);
  });

  test('as one without an answer where none came', async (t) => {
    const { client, codes } = await arrange(t, (request) => void request.socket.destroy());
    await assert.rejects(client.get('/version'));
    assert.deepEqual(codes, [0]);
  });
});
