import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { createApp } from '../../../cli/ui/app.ts';
import { Board } from '../../../cli/ui/board.ts';
import { Desk } from '../../../cli/ui/desk.ts';
import { Door, SAFE_HEADERS } from '../../../cli/ui/door.ts';
import { Mirror } from '../../../cli/ui/mirror.ts';
import { clientWith } from '../../support/client-with.ts';
import { openPort } from '../../support/open-port.ts';

/** The page with a cluster that isn't accessed. */
async function startPage(t: TestContext): Promise<number> {
  const place = { context: 'c', namespace: 'gateways' };
  const access = {
    ...place,
    server: 'https://127.0.0.1:1',
    client: clientWith({}),
    proxy: undefined,
    serverTime: () => Date.now(),
  };
  const ignore = () => {};
  const mirror = new Mirror({ access, namespace: 'gateways', now: Date.now, onChange: ignore, onNews: ignore });
  const server = createServer();
  const port = await openPort(t, server);
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
