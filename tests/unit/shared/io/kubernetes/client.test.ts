import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { clientOfServer } from '../../../../support/client-of-server.ts';

async function arrange(t: TestContext, listener: RequestListener) {
  const codes: number[] = [];
  const client = await clientOfServer(t, listener, { onCall: (_, code) => void codes.push(code) });
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
