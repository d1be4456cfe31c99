import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { GatewayClient } from '../../../../agent/gateway/gateway-client.ts';
import { slow } from '../../../support/depth.ts';
import { openPort } from '../../../support/open-port.ts';
import { startTcpServer } from '../../../support/tcp-server.ts';

/** A gateway that responds to every request with these bytes, and keeps the connection. */
async function clientOf(t: TestContext, answer: string): Promise<GatewayClient> {
  const port = await startTcpServer(t, (socket) => socket.once('data', () => socket.write(answer)));
  return new GatewayClient({ port, tls: false, apiKeyFile: undefined });
}

for (const [address, family] of [
  ['127.0.0.1', 'IPv4'],
  ['::1', 'IPv6'],
] as const) {
  test(`a gateway that listens only on ${address} is called by the same name`, async (t) => {
    const gateway = createServer((request, response) => response.end(request.headers.host));
    const port = await openPort(t, gateway, address).catch(() => undefined);
    if (!port) return t.skip(`no ${family} here`);
    const client = new GatewayClient({ port, tls: false, apiKeyFile: undefined });
    assert.deepEqual(await client.send({ method: 'GET', path: '/' }), { status: 200, body: `127.0.0.1:${port}` });
  });
}

suite('a call to a gateway is abandoned', { timeout: 30_000 }, () => {
  const switching = 'HTTP/1.1 101 Switching Protocols\r\n';
  for (const [what, answer, options] of [
    ['switches to another protocol', `${switching}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`, {}],
    ['switches without saying to which protocol', `${switching}\r\n`, {}],
    ['sends only informational responses', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1000), slow],
    ['sends headers but no body', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n', slow],
  ] as const)
    test(`if the gateway ${what}`, options, async (t) => {
      const client = await clientOf(t, answer);
      await assert.rejects(client.send({ method: 'GET', path: '/', timeoutMs: 500 }), { code: /^gateway\./ });
    });
});
