import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { CAPABILITIES, fetchAnswer, withoutBase } from '../../../support/fetch-answers.ts';
import { clientFor } from './query-world.ts';

test('a server that sends a delta against a missing object is queried once for a commit', {
  timeout: 60_000,
}, async (t) => {
  let fetches = 0;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write(CAPABILITIES));
    socket.on('data', (data) => {
      if (!data.includes('command=fetch')) return;
      fetches += 1;
      socket.end(fetchAnswer([withoutBase()]));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const url = `git://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
  await assert.rejects(clientFor(t, url).query({ prefixes: [], commit: '1'.repeat(40) }), {
    name: 'TransientError',
  });
  assert.equal(fetches, 1);
});
