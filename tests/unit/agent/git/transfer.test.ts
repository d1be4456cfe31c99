import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { Clone } from '../../../../agent/git/clone.ts';
import { GIT_LIMITS } from '../../../../agent/git/git-limits.ts';
import type { TransferLimits } from '../../../../agent/git/transfer.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { startHttpHost } from '../../../support/http-host.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const limits: TransferLimits = {
  totalMs: 60_000,
  lowSpeed: { bytesPerSecond: 2_000, seconds: 3 },
  packBytes: 2 ** 30,
};

/** Sends a number of bytes each tenth of a second. */
async function passBack(answer: IncomingMessage, outgoing: ServerResponse, pace: number): Promise<void> {
  outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
  const body = await buffer(answer);
  if (body.length < 20_000) return void outgoing.end(body);
  for (let at = 0; at < body.length && !outgoing.destroyed; at += pace) {
    outgoing.write(body.subarray(at, at + pace));
    await sleep(100);
  }
  outgoing.end();
}

/** Passes requests on to a git server, and its packs back at a pace. */
async function startSlowHost(t: TestContext, to: string, pace: number): Promise<string> {
  return await startHttpHost(t, (incoming, outgoing) => {
    const headers = { ...incoming.headers, host: new URL(to).host };
    const passed = request(`${to}${incoming.url}`, { method: incoming.method ?? 'GET', headers });
    // Git gives up, or the server behind ends first.
    const fail = () => outgoing.destroy();
    passed.on('error', fail).on('response', (answer) => passBack(answer, outgoing, pace).catch(fail));
    incoming.pipe(passed);
  });
}

async function arrange(t: TestContext, pace: number, own: Partial<TransferLimits> = {}) {
  const server = await gitServerFor(t);
  const { url, commit } = await server.createRepository('x');
  const files = { a: randomBytes(300_000).toString('base64') };
  const directory = await temporaryDirectory(t, 'transfer-');
  const host = await startSlowHost(t, server.url, pace);
  const source = { repo: url.replace(server.url, host), ref: 'main', commit: await commit({ files }), isWhole: true };
  const git = new Git(process.env);
  const clone = new Clone({ git, path: directory, log: pino({ level: 'silent' }), limits: { ...limits, ...own } });
  const packs = async () => await readdir(path.join(directory, 'objects/pack'));
  return { clone, source, access: { origin: host }, packs };
}

suite('a fetch from a git server', { concurrency: 2 }, () => {
  test('continues while data arrives, even beyond the time limit for slow transfers', slow, async (t) => {
    const { clone, source, access } = await arrange(t, 6_000);
    const began = performance.now();
    await clone.fetch(source, access);
    assert.ok(performance.now() - began > 1_000 * limits.lowSpeed.seconds, 'the server was too fast for this test');
    assert.equal(await clone.repository.holds(source.commit), true);
  });

  test("is stopped if the server trickles, and the clone doesn't count as damaged", slow, async (t) => {
    const { clone, source, access } = await arrange(t, 100);
    await assert.rejects(clone.fetch(source, access), { code: 'git.stalled', reason: 'GitTimeout' });
    assert.equal(await clone.repository.holds(source.commit), false);
  });

  test('ends after spec.git.timeout', slow, async (t) => {
    const { clone, source, access } = await arrange(t, 6_000);
    const fetching = clone.fetch({ ...source, fetchTimeoutMs: 2_000 }, access);
    await assert.rejects(fetching, { code: 'git.timeout', message: /\b2 s\b/ });
  });

  test('ends when it exceeds its size limit, and leaves nothing on the disk', slow, async (t) => {
    // A busy machine may send little for seconds, which isn't what this test is about.
    const lowSpeed = { bytesPerSecond: 500, seconds: 30 };
    const { clone, source, access, packs } = await arrange(t, 20_000, { packBytes: 100_000, lowSpeed });
    await assert.rejects(clone.fetch(source, access), { code: 'git.packTooLarge', message: /\b0\.1 MB\b/ });
    assert.deepEqual(await packs(), []);
  });

  test('stays within its memory limit, however large an object is, because files are streamed', slow, async (t) => {
    const server = await gitServerFor(t);
    const { url: repo, commit } = await server.createRepository('x');
    const directory = await temporaryDirectory(t, 'transfer-');
    const small = new Git(process.env, { ...GIT_LIMITS, memoryBytes: 64 * 1024 ** 2 });
    const log = pino({ level: 'silent' });
    const clone = new Clone({ git: small, path: directory, log });
    const access = { origin: server.url };
    const large = await commit({ files: { a: '1', b: 'x'.repeat(150 * 1024 ** 2) } });
    await clone.fetch({ repo, ref: 'main', commit: large, isWhole: true }, access);
    assert.equal(await clone.repository.holds(large), true);
  });
});
