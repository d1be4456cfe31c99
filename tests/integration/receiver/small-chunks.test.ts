import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { suite, test } from 'node:test';
import { connectCluster } from '../../support/cluster.ts';
import { type Receiver, startReceiver } from './start-receiver.ts';

const cluster = await connectCluster();
const BYTES = 3_000_000;
const CHUNK = '1\r\nx\r\n';

suite('a body in tiny chunks costs little more than one in one piece', () => {
  for (const [what, path] of [
    ['that is read', '/webhook/a/b'],
    ['that nobody looks at', '/nowhere'],
  ] as const) {
    test(what, { skip: process.platform !== 'linux' && 'it reads /proc' }, async (t) => {
      const receiver = await startReceiver(t, cluster.kubeconfig, { WEBHOOK_HMAC_SECRET: 'key' });
      const inOnePiece = () =>
        costOf(receiver, { path, framing: `Content-Length: ${BYTES}`, body: Buffer.alloc(BYTES, 'x') });
      await inOnePiece(); // compiled by now
      const whole = await inOnePiece();
      const body = Buffer.from(`${CHUNK.repeat(BYTES / CHUNK.length)}0\r\n\r\n`);
      const tiny = await costOf(receiver, { path, framing: 'Transfer-Encoding: chunked', body });
      t.diagnostic(`${whole} ms in one piece, ${tiny} ms in tiny chunks`);
      assert.ok(tiny < 10 * (whole + 20), `${tiny} ms of processor time for 3 MB; in one piece ${whole} ms`);
    });
  }
});

interface Sent {
  path: string;
  framing: string;
  body: Buffer;
}

/** Processor time of the receiver until all is sent and answered, or the connection is closed, in milliseconds. */
async function costOf({ port, program }: Receiver, { path, framing, body }: Sent): Promise<number> {
  const before = await processorMs(program.pid);
  await new Promise<void>((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answered = new Promise((done) => socket.once('data', done));
    socket.on('error', () => {}).once('close', resolve);
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${framing}\r\n\r\n`);
    socket.write(body, () => answered.then(() => socket.destroy()));
  });
  return (await processorMs(program.pid)) - before;
}

/** In ticks of ten milliseconds. */
async function processorMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
