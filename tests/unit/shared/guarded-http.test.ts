import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { suite, test } from 'node:test';
import { localHttp } from '../../support/local-http.ts';

suite('a request of the agent ends, where the host', { concurrency: 2 }, () => {
  for (const [what, answer, repeats] of [
    ['changes to another protocol', 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n', 1],
    ['sends hints and never an answer', 'HTTP/1.1 103 Early Hints\r\n\r\n', 100],
  ] as const) {
    test(what, { timeout: 60_000 }, async (t) => {
      const server = createServer((socket) => {
        t.after(() => socket.destroy());
        socket.on('error', () => {}).once('data', () => socket.write(answer.repeat(repeats)));
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      t.after(() => server.close());
      const http = localHttp();
      t.after(() => http.close());
      const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/app.git`);
      await assert.rejects(http.send(url, {}), { name: 'TransientError', reason: 'GitUnreachable' });
    });
  }
});
