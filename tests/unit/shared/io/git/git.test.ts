import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { packet } from '../../../../../controller/polling/pkt-line.ts';
import { Git } from '../../../../../shared/io/git/git.ts';
import { slow } from '../../../../support/depth.ts';
import { startTcpServer } from '../../../../support/tcp-server.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const PATH = '/usr/local/bin:/usr/bin:/bin';

/** A git that is this script. */
async function playGit(t: TestContext, script: string, environment: NodeJS.ProcessEnv = {}): Promise<Git> {
  const directory = await temporaryDirectory(t, 'git-');
  await writeFile(path.join(directory, 'git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return new Git({ ...environment, PATH: `${directory}:${PATH}` });
}

suite('a git process', () => {
  test('is stopped in time, even if it has ended and a helper holds its output open', async (t) => {
    const git = await playGit(t, 'sleep 20 & exit 0');
    const began = performance.now();
    await assert.rejects(git.run(['fetch'], { timeoutMs: 500 }), { reason: 'GitTimeout' });
    assert.ok(performance.now() - began < 15_000);
  });

  test('gets the proxy, whose URL can contain a password, only if it has to use it, and no exceptions', async (t) => {
    const proxy = 'http://user:pass@proxy.test:3128';
    const script = 'echo "$https_proxy$HTTPS_PROXY$no_proxy$NO_PROXY"';
    const git = await playGit(t, script, { HTTPS_PROXY: proxy, NO_PROXY: '.svc' });
    const seenWith = async (access: object) => (await git.run(['x'], { access })).toString('utf8').trim();
    const origin = 'https://git.test';
    assert.deepEqual([await seenWith({ origin }), await seenWith({ origin, isProxied: true })], ['', proxy]);
  });

  test('uses the same proxy as Node, or none, even if curl parses its URL differently', async (t) => {
    const ports: string[] = [];
    const port = await startTcpServer(t, (socket) => {
      ports.push('asked');
      socket.destroy();
    });
    const place = `127.0.0.1:${port}`;
    const access = { origin: 'http://git.invalid', isProxied: true };
    for (const text of [`http:///${place}`, `http://${place} `, `http://me@${place}`, `http://me:p@ss@${place}/a?b`]) {
      const git = new Git({ PATH, http_proxy: text });
      await assert.rejects(git.run(['ls-remote', 'http://git.invalid/x'], { access }), { name: 'TransientError' });
      assert.deepEqual(ports.splice(0), ['asked'], text);
    }
  });

  test('is stopped by a signal, with all its children', async (t) => {
    const git = await playGit(t, 'sleep 20; echo never');
    const began = performance.now();
    await assert.rejects(git.run(['fetch'], { signal: AbortSignal.timeout(500) }), { name: 'TimeoutError' });
    assert.ok(performance.now() - began < 15_000);
  });

  test('stays within its memory limit, whatever a server sends', slow, async (t) => {
    const refs = packet(`${'a'.repeat(40)} refs/heads/x\n`).repeat(1_000_000);
    const answer = `${packet(`${'a'.repeat(40)} HEAD\0agent=git\n`)}${refs}0000`;
    const port = await startTcpServer(t, (socket) => socket.once('data', () => socket.end(answer)));
    const url = `git://127.0.0.1:${port}/app.git`;
    const limits = { memoryBytes: 32 * 1024 * 1024, fileBytes: 1024 * 1024 };
    await assert.rejects(new Git({ PATH }).run(['ls-remote', '--', url, 'refs/heads/main'], { limits }), {
      reason: 'GitAnswerTooLarge',
      message: /sent more data than allowed/,
    });
  });

  test("reports the reason if it can't be started, and is retried", async () => {
    const missing = { name: 'TransientError', code: 'git.notStarted', message: /it isn't in the image \(ENOENT\)/ };
    await assert.rejects(new Git({ PATH: '/nowhere' }).run(['version']), missing);
    await assert.rejects(new Git({ PATH }).run(['x'.repeat(4_000_000)]), { code: 'git.notStarted', message: /E2BIG/ });
  });

  test("isn't blamed on the server if the system kills it for lack of memory", async (t) => {
    const git = await playGit(t, 'kill -9 $$');
    await assert.rejects(git.run(['fetch']), { name: 'TransientError', code: 'git.killed' });
  });

  test("doesn't crash the program if too many files are open to start it", () => {
    const file = fileURLToPath(new URL('../../../../../shared/io/git/git.ts', import.meta.url));
    const script = `
      import { openSync } from 'node:fs';
      import { setTimeout as sleep } from 'node:timers/promises';
      import { Git } from ${JSON.stringify(file)};
      const git = new Git({ PATH: ${JSON.stringify(PATH)} });
      try { for (;;) openSync('/dev/null'); } catch {}
      const error = await git.run(['version']).catch((error) => error);
      await sleep(10);
      console.log(error.name, error.code);
    `;
    const node = [process.execPath, '--input-type=module', '--eval', script];
    const { stdout, status } = spawnSync('sh', ['-c', 'ulimit -n 100 && exec "$@"', 'sh', ...node]);
    assert.deepEqual([`${stdout}`, status], ['TransientError git.notStarted\n', 0]);
  });

  test('writes no file above its size limit', async (t) => {
    const git = await playGit(
      t,
      'head -c 1000000 /dev/zero >"$TMPDIR/large" 2>/dev/null || echo "File too large" >&2; exit 1',
    );
    const directory = await temporaryDirectory(t, 'git-');
    const limits = { memoryBytes: 32 * 1024 * 1024, fileBytes: 64 * 1024 };
    await assert.rejects(git.run(['fetch'], { limits, environment: { TMPDIR: directory } }), {
      code: 'git.fileTooLarge',
    });
  });
});

suite('the output of git', () => {
  test('enters no error together with credentials or text of the server', async (t) => {
    const basic = Buffer.from('user:S3CRET-WORD').toString('base64');
    const printed = [
      'remote: a page of the host',
      `error: sent ${basic} for S3CRET-WORD`,
      `fatal: remote error: of the host`,
      'fatal: write error: No space left on device',
    ];
    const git = await playGit(t, `cat >&2 <<'END'\n${printed.join('\n')}\nEND\nexit 1`);
    const access = { authorization: { origin: 'https://git.test', value: `Basic ${basic}` } };
    const error = await git.run(['fetch'], { access }).catch((thrown) => thrown);
    assert.equal(error.code, 'git.unreachable');
    assert.equal(error.cause.message, 'error: sent [redacted] for [redacted]\nfatal: remote error: …');
  });

  test('counts for its own memory, but not if a server forges it', async (t) => {
    const limits = { memoryBytes: 32 * 1024 * 1024 };
    const fails = (line: string) => playGit(t, `echo '${line}' >&2; exit 1`).then((git) => git.run(['x'], { limits }));
    await assert.rejects(fails('fatal: Out of memory, malloc failed'), { code: 'git.answerTooLarge' });
    await assert.rejects(fails('remote: Out of memory'), { code: 'git.unreachable' });
  });
});
