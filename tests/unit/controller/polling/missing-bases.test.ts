import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CAPABILITIES, fetchAnswer, withoutBase } from '../../../support/fetch-answers.ts';
import { startTcpServer } from '../../../support/tcp-server.ts';
import { clientFor } from './query-world.ts';

test('a server that sends a delta against a missing object is queried once for a commit', {
  timeout: 60_000,
}, async (t) => {
  let fetches = 0;
  const port = await startTcpServer(t, (socket) => {
    socket.once('data', () => socket.write(CAPABILITIES));
    socket.on('data', (data) => {
      if (!data.includes('command=fetch')) return;
      fetches += 1;
      socket.end(fetchAnswer([withoutBase()]));
    });
  });
  await assert.rejects(clientFor(t, `git://127.0.0.1:${port}/x`).query({ prefixes: [], commit: '1'.repeat(40) }), {
    name: 'TransientError',
  });
  assert.equal(fetches, 1);
});
