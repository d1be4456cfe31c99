import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { suite, test } from 'node:test';
import { slow } from '../../support/depth.ts';
import { localHttp } from '../../support/local-http.ts';
import { startTcpServer } from '../../support/tcp-server.ts';
import { until } from '../../support/until.ts';

test('a request of the agent ends if the server changes to another protocol', {
  ...slow,
  timeout: 60_000,
}, async (t) => {
  const answer = 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n';
  const port = await startTcpServer(t, (socket) => socket.once('data', () => socket.write(answer)));
  const http = localHttp();
  t.after(() => http.close());
  const url = new URL(`http://127.0.0.1:${port}/app.git`);
  await assert.rejects(http.send(url, {}), { name: 'TransientError', reason: 'GitUnreachable' });
});

suite('a connection to a proxy ends with its request if the proxy', () => {
  for (const [what, answer] of [
    ['says nothing', ''],
    ['connects to a host that says nothing', 'HTTP/1.1 200 Connection established\r\n\r\n'],
    ['sends half of a TLS record', 'HTTP/1.1 200 Connection established\r\n\r\n\x16\x03\x03\x40'],
  ] as const) {
    test(what, slow, async (t) => {
      const open = new Set<Socket>();
      const port = await startTcpServer(t, (socket) => {
        open.add(socket.on('close', () => open.delete(socket)));
        socket.once('data', () => socket.write(answer, 'latin1'));
      });
      const http = localHttp(undefined, { https_proxy: `http://127.0.0.1:${port}` });
      t.after(() => http.close());
      const send = () => http.send(new URL('https://203.0.113.1/app.git'), { signal: AbortSignal.timeout(300) });
      for (let n = 0; n < 3; n += 1) await assert.rejects(send());
      await until(() => open.size === 0, { describe: 'closed connections', timeout: 5_000 });
    });
  }
});

suite('an unreachable proxy is reported instead of the git server,', () => {
  for (const [what, proxy] of [
    ['a port on which nobody listens', 'http://127.0.0.1:1'],
    ['a name that nobody knows', 'http://proxy.invalid:3128'],
  ] as const) {
    test(`by ${what}`, async (t) => {
      const http = localHttp(undefined, { http_proxy: proxy, https_proxy: proxy });
      t.after(() => http.close());
      for (const scheme of ['http', 'https'])
        await assert.rejects(http.send(new URL(`${scheme}://203.0.113.1/app.git`), {}), { code: 'git.proxy' });
    });
  }
});
