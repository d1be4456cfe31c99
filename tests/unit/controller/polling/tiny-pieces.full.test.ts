import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { packet } from '../../../../controller/polling/pkt-line.ts';
import { clientFor, VERSION_2 } from './query-world.ts';

const main = { prefixes: ['refs/heads/main'] };

/**
 * A server that responds forever, in HTTP chunks of this size; in a separate thread, so that its work isn't measured.
 */
const host = `
const { createServer } = require('node:net');
const { parentPort, workerData: { line, size, advertisement } } = require('node:worker_threads');
const chunk = (text) => text.length.toString(16) + '\\r\\n' + text + '\\r\\n';
const lines = line.repeat(4_000);
let block = '';
for (let at = 0; at < lines.length; at += size) block += chunk(lines.slice(at, at + size));
const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.on('data', (data) => {
    const head = 'HTTP/1.1 200 OK\\r\\nContent-Type: application/x-git-upload-pack-advertisement\\r\\n';
    if (data.toString('latin1').startsWith('GET'))
      return socket.write(head + 'Content-Length: ' + advertisement.length + '\\r\\n\\r\\n' + advertisement);
    socket.write(head + 'Transfer-Encoding: chunked\\r\\n\\r\\n');
    const go = () => { while (!socket.destroyed && socket.write(block, 'latin1')); };
    socket.on('drain', go);
    go();
  });
}).listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

test('a response in chunks of one byte is abandoned before its timeout', { timeout: 60_000 }, async (t) => {
  const line = packet(`${'c'.repeat(40)} refs/heads/x\n`);
  const worker = new Worker(host, { eval: true, workerData: { line, size: 1, advertisement: VERSION_2 } });
  t.after(() => worker.terminate());
  const [port] = await once(worker, 'message');
  const queries = Array.from({ length: 8 }, () => clientFor(t, `http://127.0.0.1:${port}/app.git`).query(main));
  for (const result of await Promise.allSettled(queries)) {
    assert.ok(result.status === 'rejected');
    assert.equal(result.reason.code, 'git.tinyPieces');
  }
});
