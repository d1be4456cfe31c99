import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { GatewayClient } from '../../../../agent/gateway/gateway-client.ts';

/** A gateway that answers every request with these bytes, and keeps the connection. */
async function clientOf(t: TestContext, answer: string): Promise<GatewayClient> {
  const server = createServer((socket) => {
    socket.on('error', () => {}).once('data', () => socket.write(answer));
    t.after(() => socket.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return new GatewayClient({ port: (server.address() as AddressInfo).port, tls: false, apiKeyFile: undefined });
}

suite('a call to the gateway ends', { timeout: 30_000 }, () => {
  for (const upgrade of ['Upgrade: websocket\r\nConnection: Upgrade\r\n', '']) {
    test(`where it changes to another protocol (${upgrade.trim() || 'without saying to which'})`, async (t) => {
      const client = await clientOf(t, `HTTP/1.1 101 Switching Protocols\r\n${upgrade}\r\n`);
      await assert.rejects(client.send({ method: 'POST', path: '/scan', timeoutMs: 500 }), /the gateway /);
    });
  }

  test('where it sends nothing but informational answers', async (t) => {
    const client = await clientOf(t, 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1000));
    await assert.rejects(client.send({ method: 'POST', path: '/scan', timeoutMs: 60_000 }), {
      name: 'TransientError',
      message: /nothing but informational answers/,
    });
  });

  test('where it sends a head and no body', async (t) => {
    const client = await clientOf(t, 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n');
    await assert.rejects(client.send({ method: 'GET', path: '/', timeoutMs: 500 }), { name: 'WaitingError' });
  });
});
