import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { anyAddress } from '../../../shared/io/http/any-address.ts';
import { serveOperations } from '../../../shared/io/http/serve-operations.ts';
import { createLogger } from '../../../shared/log.ts';
import { slow } from '../../support/depth.ts';
import { until } from '../../support/until.ts';

/** Serves on a free port until the test ends, and returns the port. */
async function serve(t: TestContext, options: Partial<Parameters<typeof serveOperations>[0]> = {}): Promise<number> {
  const server = await serveOperations({ host: '127.0.0.1', port: 0, ...options });
  t.after(() => server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

test('a failure to collect metrics results in 503, and ends nothing', async (t) => {
  let isBroken = true;
  const metrics = async () => {
    if (isBroken) throw new Error('a gauge cannot be read');
    return 'up 1\n';
  };
  const port = await serve(t, { metrics: { contentType: 'text/plain', metrics } });
  const get = async () => await fetch(`http://127.0.0.1:${port}/metrics`);
  assert.equal((await get()).status, 503);
  isBroken = false;
  assert.equal(await (await get()).text(), 'up 1\n');
});

test('a waiting probe is answered when the program turns ready, or after a moment', slow, async (t) => {
  let isReady = false;
  const url = `http://127.0.0.1:${await serve(t, { isReady: () => isReady })}/readyz`;
  assert.equal((await fetch(`${url}?wait`)).status, 503);
  assert.equal((await fetch(url)).status, 503);
  const asked = fetch(`${url}?wait`);
  setTimeout(() => {
    isReady = true;
  }, 50);
  assert.equal((await asked).status, 200);
});

test('connections without a request are closed after a moment, so that others are served again', slow, async (t) => {
  const port = await serve(t, { host: await anyAddress(createLogger('test', { level: 'silent' })) });
  const isOpen = await Promise.all(
    Array.from({ length: 150 }, async (_, index) => {
      const socket = connect({ host: '127.0.0.1', port, localAddress: '127.0.0.2' }).on('error', () => {});
      t.after(() => socket.destroy());
      if (index % 2 === 0) socket.write('GET /healthz HTTP/1.1\r\nX-A: ');
      await once(socket, 'connect');
      return () => !socket.resume().destroyed;
    }),
  );
  await assert.rejects(statusOf(port), { code: 'ECONNRESET' });
  await until(() => isOpen.every((check) => !check()), { describe: 'all are closed' });
  assert.equal(await statusOf(port), 200);
});

test('a request whose body never arrives is closed soon, on any path', async (t) => {
  const port = await serve(t);
  // It may end by a reset, since nobody read all that it sent.
  const socket = connect({ host: '127.0.0.1', port }).on('error', () => {});
  socket.resume();
  socket.write('POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx');
  const started = performance.now();
  await new Promise((resolve) => socket.once('close', resolve));
  assert.ok(performance.now() - started < 4_000, 'long before a head would have to be there');
});

for (const headers of ['', 'Host:\r\n', 'Host:\r\nContent-Length: 0\r\n']) {
  test(`of thousands of requests at once (${JSON.stringify(headers)}), only a few are read`, async (t) => {
    let read = 0;
    const isAlive = () => {
      read += 1;
      return true;
    };
    const socket = connect({ host: '127.0.0.1', port: await serve(t, { isAlive }) }).on('error', () => {});
    socket.resume();
    socket.write(`GET /healthz HTTP/1.1\r\n${headers}\r\n`.repeat(1_000));
    await new Promise((resolve) => socket.once('close', resolve));
    assert.ok(read > 0 && read < 100, `${read} requests were read`);
  });
}

/** Returns the status of a probe that opens its own connection. */
function statusOf(port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path: '/healthz', agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    });
    sent.on('error', reject).setTimeout(20_000, () => sent.destroy(new Error('no answer')));
    sent.end();
  });
}
