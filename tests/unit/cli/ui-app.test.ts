import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { createApp } from '../../../cli/ui/app.ts';
import { Board } from '../../../cli/ui/board.ts';
import { Desk } from '../../../cli/ui/desk.ts';
import { Door, SAFE_HEADERS } from '../../../cli/ui/door.ts';
import { Mirror } from '../../../cli/ui/mirror.ts';
import { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../../shared/io/kubernetes/credentials.ts';

/** The page with a cluster that isn't accessed. */
async function startPage(t: TestContext): Promise<number> {
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'c', server: 'https://127.0.0.1:1', skipTLSVerify: false }, { name: 'u' });
  const place = { context: 'c', server: 'https://127.0.0.1:1', namespace: 'gateways' };
  const client = new KubernetesClient(new ApiCredentials(config), { userAgent: 'test' });
  const access = { ...place, client, proxy: undefined, serverTime: () => Date.now() };
  const ignore = () => {};
  const mirror = new Mirror({ access, namespace: 'gateways', now: Date.now, onChange: ignore, onNews: ignore });
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const door = new Door(`127.0.0.1:${port}`);
  const app = createApp({ door, board: new Board(mirror), desk: new Desk(access, mirror), assets: new Map(), place });
  server.on('request', app);
  return port;
}

test('a path with a broken escape gets 400 with the usual security headers', async (t) => {
  const port = await startPage(t);
  const socket = connect(port, '127.0.0.1');
  socket.end(`GET /%zz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`);
  const answer = await text(socket);
  assert.match(answer, /^HTTP\/1\.1 400 /);
  assert.ok(answer.toLowerCase().includes(`content-security-policy: ${SAFE_HEADERS['Content-Security-Policy']}`));
  assert.doesNotMatch(answer, /internal error/);
});
