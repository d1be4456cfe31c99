import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { readNodeFlags } from '../../../scripts/images/read-entry-point.ts';
import { createCertificates } from '../../../scripts/testbed/certificates.ts';
import { LIMIT_KB } from '../../../scripts/testbed/memory-limit.ts';
import { signDelivery } from '../../../scripts/testbed/sign-delivery.ts';
import { startReceiver } from '../../integration/receiver/start-receiver.ts';
import { connectCluster } from '../../support/cluster.ts';
import { makeCgroup, watchMemory } from '../../support/memory-limit.ts';
import { startSlowLink } from '../../support/slow-link.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const key = 'key';

/** A kubeconfig for the same cluster by way of another address. */
async function kubeconfigThrough(t: TestContext, url: string): Promise<string> {
  const cluster = await connectCluster();
  const directory = await temporaryDirectory(t, 'receiver-memory-');
  const file = `${directory}/kubeconfig`;
  await writeFile(file, (await readFile(cluster.kubeconfig, 'utf8')).replaceAll(cluster.url, url));
  return file;
}

/** Returns a push as GitHub sends it, with enough commits to reach this size (bytes). */
function pushOf(bytes: number): Buffer {
  const commit = (n: number) => ({
    id: createHmac('sha1', key).update(String(n)).digest('hex'),
    message: `Change ${n}`,
    author: { name: 'A', email: 'a@example.com' },
    added: [`gateways/${n}/config.json`],
    modified: [`gateways/${n}/tags.json`, `gateways/${n}/views/main.json`],
  });
  const size = JSON.stringify(commit(100_000)).length + 1;
  const commits = Array.from({ length: Math.floor(bytes / size) - 2 }, (_, n) => commit(n));
  return Buffer.from(JSON.stringify({ ref: 'refs/heads/main', after: 'a'.repeat(40), commits }).padEnd(bytes));
}

/** The same as a form, which is GitHub's default. Characters beyond Latin-1 take the most memory. */
function formOf(bytes: number): Buffer {
  const json = pushOf(Math.floor(bytes * 0.6))
    .toString()
    .replaceAll('Change', '部');
  return Buffer.from(`payload=${encodeURIComponent(json)}`.slice(0, bytes));
}

const FORM = 'application/x-www-form-urlencoded';

/** Posts one body many times at once and counts the answers; -1 counts connections that broke. */
async function flood(
  port: number,
  body: Buffer,
  count: number,
  type = 'application/json',
): Promise<Record<string, number>> {
  const signature = signDelivery(body, key);
  const headers = {
    'Content-Type': type,
    'X-GitHub-Event': 'push',
    'X-Hub-Signature-256': signature,
    'Content-Length': body.length,
  };
  const agent = new Agent({ maxSockets: 250 });
  const statuses: Record<string, number> = {};
  const post = (n: number) =>
    new Promise<number>((resolve) => {
      const path = `/webhook/default/r${n % 10}`;
      const outgoing = request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent }, (response) => {
        response.resume().once('close', () => resolve(response.complete ? (response.statusCode ?? -1) : -1));
      });
      outgoing.on('error', () => resolve(-1));
      outgoing.end(body);
    });
  const answers = await Promise.all(Array.from({ length: count }, (_, n) => post(n)));
  for (const status of answers) statuses[status] = (statuses[status] ?? 0) + 1;
  agent.destroy();
  return statuses;
}

suite('a receiver with 128 MiB and an unresponsive API server', {
  skip: process.platform !== 'linux' && 'it reads /proc',
}, () => {
  for (const [count, bytes, type] of [
    [100, 3_000_000, 'application/json'],
    [1000, 300_000, 'application/json'],
    [100, 3_000_000, FORM],
  ] as const) {
    test(`answers each of ${count} simultaneous authentic deliveries of ${bytes} bytes (${type}) with 503 or 202`, async (t) => {
      const link = await startSlowLink(t, (await connectCluster()).url);
      const flags = await readNodeFlags('receiver');
      const kubeconfig = await kubeconfigThrough(t, link.url);
      const env = { WEBHOOK_HMAC_SECRET: key, MALLOC_ARENA_MAX: '1', MAX_CONNECTIONS_PER_ADDRESS: '0' };
      const cgroup = await makeCgroup();
      const receiver = await startReceiver(t, kubeconfig, env, [...flags, ...(cgroup?.flags ?? [])]);
      // After the receiver is gone: it was started before.
      t.after(() => cgroup?.remove());
      link.hold();
      const memory = watchMemory(receiver.program.pid);
      const statuses = await flood(receiver.port, type === FORM ? formOf(bytes) : pushOf(bytes), count, type);
      const peak = memory.stop();
      t.diagnostic(
        `${JSON.stringify(statuses)}, ${(peak / 1024).toFixed(0)} MiB at the peak${cgroup ? ', in a cgroup' : ''}`,
      );
      const others = Object.keys(statuses).filter((status) => !['202', '503'].includes(status));
      assert.deepEqual(others, []);
      assert.ok(peak > 0 && peak < LIMIT_KB, `${peak} kB at the peak`);
      const refused = new RegExp(`^sync_receiver_request_duration_seconds_count\\{outcome="refused"\\} ${count}$`, 'm');
      const metrics = async () => await (await fetch(receiver.metricsUrl)).text();
      await until(metrics, { describe: 'every answer to be counted', accept: (page) => refused.test(page) });
    });
  }

  test('survives unauthenticated clients that send a byte at a time', async (t) => {
    const { kubeconfig } = await connectCluster();
    const env = { WEBHOOK_HMAC_SECRET: key, MALLOC_ARENA_MAX: '1', MAX_CONNECTIONS_PER_ADDRESS: '0' };
    const receiver = await startReceiver(t, kubeconfig, env, await readNodeFlags('receiver'));
    const memory = watchMemory(receiver.program.pid);
    const lines = ['POST /webhook/default/r0 HTTP/1.1', 'Host: x', 'Transfer-Encoding: chunked', '', ''];
    const bytes = Buffer.from('1\r\n \r\n'.repeat(10_000));
    const trickle = async (chunks: number) => {
      const socket = connect(receiver.port, '127.0.0.1');
      socket.on('error', () => {});
      t.after(() => socket.destroy());
      socket.write(lines.join('\r\n'));
      for (let sent = 0; sent < chunks && socket.writable; sent += 10_000) {
        if (!socket.write(bytes)) await new Promise((resolve) => socket.once('drain', resolve).once('close', resolve));
      }
    };
    await Promise.all([trickle(400_000), ...Array.from({ length: 30 }, () => trickle(30_000))]);
    const { status } = await receiver.post('default/r0', { ref: 'v1' });
    const peak = memory.stop();
    t.diagnostic(`${(peak / 1024).toFixed(0)} MiB at the peak`);
    assert.equal(status, 401);
    assert.ok(peak > 0 && peak < LIMIT_KB, `${peak} kB at the peak`);
  });

  for (const [what, sent] of [
    ['', 'GET / HTTP/1.1\r\nHost:\r\n\r\n'],
    [' without a host name', 'GET / HTTP/1.1\r\n\r\n'],
    [' with an unknown expectation', 'GET / HTTP/1.1\r\nHost:\r\nExpect:x\r\n\r\n'],
    [' that expect 100-continue', 'GET / HTTP/1.1\r\nHost:\r\nExpect:100-continue\r\n\r\n'],
  ] as const) {
    test(`survives unauthenticated clients that send thousands of requests${what} without waiting for responses`, async (t) => {
      const { kubeconfig } = await connectCluster();
      const env = { WEBHOOK_HMAC_SECRET: key, MALLOC_ARENA_MAX: '1' };
      const receiver = await startReceiver(t, kubeconfig, env, await readNodeFlags('receiver'));
      const memory = watchMemory(receiver.program.pid);
      const ports = [receiver.port, Number(new URL(receiver.healthUrl).port)];
      for (const port of ports) await pipeline(sent, 300, () => connect(port, '127.0.0.1'));
      const { status } = await receiver.post('default/r0', { ref: 'v1' });
      const peak = memory.stop();
      t.diagnostic(`${(peak / 1024).toFixed(0)} MiB at the peak`);
      assert.equal(status, 401);
      assert.ok(peak > 0 && peak < LIMIT_KB, `${peak} kB at the peak`);
    });
  }

  test('survives unauthenticated clients that send thousands of requests over TLS', async (t) => {
    const { kubeconfig } = await connectCluster();
    const directory = await temporaryDirectory(t, 'receiver-memory-');
    const { certFile, keyFile } = await createCertificates(directory);
    const env = { WEBHOOK_HMAC_SECRET: key, MALLOC_ARENA_MAX: '1', TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile };
    const receiver = await startReceiver(t, kubeconfig, env, await readNodeFlags('receiver'));
    const { port } = receiver;
    const open = () => connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    await pipeline('GET / HTTP/1.1\r\nHost:\r\n\r\n', 300, open);
    assert.equal((await fetch(`${receiver.healthUrl}/healthz`)).status, 200);
  });
});

/** Sends as many requests as fill 64 KiB on each of many connections at once, and waits until these are closed. */
async function pipeline(sent: string, connections: number, open: () => Socket): Promise<void> {
  const bytes = Buffer.from(sent.repeat(65_536 / sent.length));
  const sockets = Array.from({ length: connections }, open);
  for (const socket of sockets) socket.on('error', () => {}).resume();
  const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  for (const socket of sockets) socket.write(bytes);
  await Promise.all(closed);
}
