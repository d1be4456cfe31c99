import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { Clone } from '../../../../agent/git/clone.ts';
import { GIT_LIMITS } from '../../../../agent/git/git-limits.ts';
import { type TransferLimits, transfer } from '../../../../agent/git/transfer.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { startHttpHost } from '../support/http-host.ts';
import { objectWriter } from './support/write-object.ts';

const limits: TransferLimits = {
  totalMs: 60_000,
  lowSpeed: { bytesPerSecond: 2_000, seconds: 3 },
  packBytes: 2 ** 30,
};

interface Pace {
  /** Bytes a tenth of a second. */
  bytes: number;
  /** Number of bytes after which the transfer stalls. */
  end?: number;
}

async function passBack(answer: IncomingMessage, outgoing: ServerResponse, pace: Pace): Promise<void> {
  outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
  const body = await buffer(answer);
  if (body.length < 20_000) return void outgoing.end(body);
  for (let at = 0; at < body.length && !outgoing.destroyed; at += pace.bytes) {
    if (at >= (pace.end ?? Number.POSITIVE_INFINITY)) return;
    outgoing.write(body.subarray(at, at + pace.bytes));
    await sleep(100);
  }
  outgoing.end();
}

/** Passes requests on to a git server, and its packs back at a pace. */
async function startSlowHost(t: TestContext, to: string, pace: Pace): Promise<string> {
  return await startHttpHost(t, (incoming, outgoing) => {
    const headers = { ...incoming.headers, host: new URL(to).host };
    const passed = request(`${to}${incoming.url}`, { method: incoming.method ?? 'GET', headers });
    // Git gives up, or the server behind ends first.
    const fail = () => outgoing.destroy();
    passed.on('error', fail).on('response', (answer) => passBack(answer, outgoing, pace).catch(fail));
    incoming.pipe(passed);
  });
}

async function arrange(t: TestContext, pace: Pace, own: Partial<TransferLimits> = {}) {
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
    const { clone, source, access } = await arrange(t, { bytes: 6_000 });
    const began = performance.now();
    await clone.fetch(source, access);
    assert.ok(performance.now() - began > 1_000 * limits.lowSpeed.seconds, 'the server was too fast for this test');
    assert.equal(await clone.repository.holds(source.commit), true);
  });

  for (const [name, pace] of [
    ['trickles', { bytes: 100 }],
    ['falls silent', { bytes: 6_000, end: 100_000 }],
  ] as const) {
    test(`is stopped if the server ${name}, and the clone doesn't count as damaged`, slow, async (t) => {
      const { clone, source, access } = await arrange(t, pace);
      await assert.rejects(clone.fetch(source, access), { code: 'git.stalled', reason: 'GitTimeout' });
      assert.equal(await clone.repository.holds(source.commit), false);
    });
  }

  test('ends after spec.git.timeout', slow, async (t) => {
    const { clone, source, access } = await arrange(t, { bytes: 6_000 });
    const fetching = clone.fetch({ ...source, fetchTimeoutMs: 2_000 }, access);
    await assert.rejects(fetching, { code: 'git.timeout', message: /longer than 2 s/ });
  });

  test('ends when it exceeds its size limit, and leaves nothing on the disk', slow, async (t) => {
    // A busy machine may send little for seconds, which isn't what this test is about.
    const lowSpeed = { bytesPerSecond: 500, seconds: 30 };
    const { clone, source, access, packs } = await arrange(t, { bytes: 20_000 }, { packBytes: 100_000, lowSpeed });
    await assert.rejects(clone.fetch(source, access), { code: 'git.packTooLarge', message: /more than 0\.1 MB/ });
    assert.deepEqual(await packs(), []);
  });

  test('names the volume of the clone if it fills it', async (t) => {
    const directory = await temporaryDirectory(t, 'full-');
    const script = '#!/bin/sh\necho "fatal: write error: No space left on device" >&2\nexit 128\n';
    await writeFile(path.join(directory, 'git'), script, { mode: 0o755 });
    const git = new Git({ PATH: `${directory}:${process.env.PATH}` });
    const fetchTo = (gitDir: string) => transfer(git, ['fetch'], { gitDir, access: {}, signal: undefined });
    await assert.rejects(fetchTo(path.join(directory, 'nowhere')), { code: 'git.noSpace' });
    await assert.rejects(fetchTo(directory), { code: 'git.unreachable' }, 'there is room');
  });

  test('stays within its memory limit, however large an object is, because files are streamed', slow, async (t) => {
    const server = await gitServerFor(t);
    const { url: repo, path: at, git, commit } = await server.createRepository('x');
    const directory = await temporaryDirectory(t, 'transfer-');
    const small = new Git(process.env, { ...GIT_LIMITS, memoryBytes: 64 * 1024 ** 2 });
    const log = pino({ level: 'silent' });
    const clone = new Clone({ git: small, path: directory, log });
    const access = { origin: server.url };
    const large = await commit({ files: { a: '1', b: 'x'.repeat(150 * 1024 ** 2) } });
    await clone.fetch({ repo, ref: 'main', commit: large, isWhole: true }, access);
    assert.equal(await clone.repository.holds(large), true);
    const tree = await git('rev-parse', 'main^{tree}');
    const author = 'A <a@b.test> 1700000000 +0000';
    const message = Buffer.alloc(150 * 1024 ** 2, 'x');
    const head = Buffer.from(`tree ${tree}\nauthor ${author}\ncommitter ${author}\n\n`);
    const bomb = await objectWriter(at)('commit', Buffer.concat([head, message]));
    await git('update-ref', 'refs/heads/main', bomb);
    const fetching = clone.fetch({ repo, ref: 'main', commit: bomb, isWhole: true }, access);
    await assert.rejects(fetching, { code: 'git.answerTooLarge', message: /more than 64 MiB/ });
  });
});
