import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { serveOperations } from '../../../shared/io/http/serve-operations.ts';

test('a page of metrics that cannot be made is answered 503, and ends nothing', async (t) => {
  let isBroken = true;
  const metrics = async () => {
    if (isBroken) throw new Error('a gauge cannot be read');
    return 'up 1\n';
  };
  const server = await serveOperations({ host: '127.0.0.1', port: 0, metrics: { contentType: 'text/plain', metrics } });
  t.after(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const get = async () => await fetch(`http://127.0.0.1:${port}/metrics`);
  assert.equal((await get()).status, 503);
  isBroken = false;
  assert.equal(await (await get()).text(), 'up 1\n');
});
