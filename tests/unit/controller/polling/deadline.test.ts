import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import type { RepositorySource } from '../../../../controller/polling/repository-client.ts';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import { slow } from '../../../support/depth.ts';
import { startTcpServer } from '../../../support/tcp-server.ts';
import { until } from '../../../support/until.ts';
import { ADVERTISEMENT, clientFor, queryClient, queryTools, SERVICE, sshAuth, sshTools } from './query-world.ts';

const DEADLINE_MS = 1_000;
/** The deadline, plus a margin for a busy machine. Some of these queries would never end without one. */
const SOON_MS = DEADLINE_MS + 10_000;

/** Sends the text, and then single bytes until the client disconnects. */
function trickle(socket: Socket, text: string): void {
  socket.once('data', () => {
    socket.write(text);
    const timer = setInterval(() => socket.write('0'), 50);
    socket.on('close', () => clearInterval(timer));
  });
}

/** Asserts that a query ends in time, with the right message. */
async function assertGivenUp(t: TestContext, git: RepositorySource['git']): Promise<void> {
  const tools = git.auth === sshAuth ? sshTools() : queryTools();
  t.after(() => tools.http.close());
  const client = queryClient(tools, { namespace: 'default', git }, DEADLINE_MS);
  const began = performance.now();
  const query = client.query({ prefixes: ['refs/heads/main'], commit: 'a'.repeat(40) });
  await assert.rejects(query, { name: 'TransientError', reason: 'GitTimeout' });
  const took = performance.now() - began;
  assert.ok(took < SOON_MS, `${took} ms`);
}

const head = `HTTP/1.1 200 OK\r\nContent-Type: ${ADVERTISEMENT}\r\n`;

suite('a query has a single deadline if', { concurrency: 4 }, () => {
  for (const scheme of ['http', 'https'])
    test(`the host never answers over ${scheme}`, slow, async (t) => {
      await assertGivenUp(t, { repo: `${scheme}://127.0.0.1:${await startTcpServer(t, () => {})}/app.git` });
    });

  for (const [what, beginning] of [
    ['headers trickle', `${head}X-Slow: `],
    ['body trickles', `${head}\r\n${SERVICE}fff0`],
  ] as const)
    test(`the ${what}`, slow, async (t) => {
      const port = await startTcpServer(t, (socket) => trickle(socket, beginning));
      await assertGivenUp(t, { repo: `http://127.0.0.1:${port}/app.git` });
    });

  test('each redirect takes its time', slow, async (t) => {
    let count = 0;
    const port: number = await startTcpServer(t, (socket) =>
      socket.on('data', () => {
        count += 1;
        const answer = `HTTP/1.1 302 Found\r\nLocation: /${count}/info/refs\r\nContent-Length: 0\r\n\r\n`;
        setTimeout(() => socket.write(answer), DEADLINE_MS * 0.4);
      }),
    );
    await assertGivenUp(t, { repo: `http://127.0.0.1:${port}/app.git` });
  });

  test('the git binary waits for a server that trickles', slow, async (t) => {
    const port = await startTcpServer(t, (socket) => trickle(socket, 'fff0'));
    await assertGivenUp(t, { repo: `git://127.0.0.1:${port}/app.git` });
    await assertNothingRuns(`:${port}/`);
  });

  test('ssh waits for a silent server', slow, async (t) => {
    const port = await startTcpServer(t, () => {});
    await assertGivenUp(t, { repo: `ssh://git@127.0.0.1:${port}/app.git`, auth: sshAuth });
    await assertNothingRuns(`-p ${port} `);
  });

  test("the API server doesn't return the credentials", slow, async (t) => {
    const port = await startTcpServer(t, () => {});
    const tools = queryTools(`https://127.0.0.1:${port}`);
    const auth = { token: { secretRef: { name: 'git', key: 'token' } } };
    const source = { namespace: 'default', git: { repo: 'https://127.0.0.1:1/x', auth } };
    const client = queryClient(tools, source, DEADLINE_MS);
    t.after(() => tools.client.close());
    const began = performance.now();
    await assert.rejects(client.query({ prefixes: ['HEAD'] }), { reason: 'GitTimeout' });
    assert.ok(performance.now() - began < SOON_MS);
  });
});

test('a query ends if the server changes to another protocol', { timeout: 60_000 }, async (t) => {
  const switching = 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n';
  const port = await startTcpServer(t, (socket) => socket.once('data', () => socket.write(switching)));
  await assert.rejects(clientFor(t, `http://127.0.0.1:${port}/app.git`).query({ prefixes: ['HEAD'] }), {
    name: 'TransientError',
    reason: 'GitUnreachable',
  });
});

/** Asserts that git and its helpers have ended; `mark` is a part of their arguments. */
async function assertNothingRuns(mark: string): Promise<void> {
  const processes = async () => (await runCommand('ps', ['-eo', 'args'])).split('\n');
  await until(processes, {
    describe: 'nothing of git is left',
    accept: (lines) => !lines.some((line) => /^(git|ssh|sh) /.test(line) && line.includes(mark)),
  });
}
