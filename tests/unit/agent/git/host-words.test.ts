import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { pino } from 'pino';
import { transfer } from '../../../../agent/git/transfer.ts';
import type { GitServer } from '../../../../scripts/testbed/git-server.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { accessTo } from '../support/git-sandbox.ts';
import { createSandbox } from '../support/sandbox.ts';

const NO_COMMIT = 'ab'.repeat(20);

/** The server responds to each request with an error page, which git prints. */
function answerWithWords(server: GitServer, words: (authorization: string) => string): void {
  server.redirect = (request, response) => {
    response.writeHead(500, { 'content-type': 'text/plain' });
    response.end(words(String(request.headers.authorization)));
    return true;
  };
}

const logged = (err: unknown): string => {
  const lines: string[] = [];
  pino({}, { write: (line) => lines.push(line) }).error({ err }, 'sync failed');
  return lines.join('');
};

suite('messages from a git server', () => {
  test('about a full disk are ignored if there is room, over ssh as well', async (t) => {
    const directory = await temporaryDirectory(t, 'words-');
    const script = '#!/bin/sh\necho "fatal: write error: No space left on device" >&2\nexit 128\n';
    await writeFile(path.join(directory, 'git'), script, { mode: 0o755 });
    const git = new Git({ PATH: `${directory}:${process.env.PATH}` });
    const sshHost = { address: '127.0.0.1', port: 22, alias: 'git.test' };
    for (const access of [{ sshHost }, {}]) {
      const fetchTo = (gitDir: string) => transfer(git, ['fetch'], { gitDir, access, signal: undefined });
      await assert.rejects(fetchTo(directory), { name: 'TransientError', code: 'git.unreachable' }, 'there is room');
      await assert.rejects(fetchTo('/nowhere'), { code: 'git.noSpace' }, 'nothing can be written there');
    }
  });

  test('appear in no log line, so that a token that the server repeats stays secret', async (t) => {
    const server = await gitServerFor(t, { tls: true });
    const { url: repo } = await server.createRepository('x');
    const sandbox = await createSandbox(t, { files: await accessTo(t, server, 'SECRET-TOKEN') });
    let sent = '';
    answerWithWords(server, (authorization) => {
      sent = authorization;
      return `you sent ${authorization}: ${atob(authorization.replace('Basic ', ''))}\n`;
    });
    const line = logged(await sandbox.sync({ repo, commit: NO_COMMIT }).catch((error) => error));
    assert.match(sent, /^Basic \S{10}/);
    assert.match(line, /"code":"git\.http500"/);
    assert.match(line, /returned error: 500/, 'what git says of it is there');
    assert.doesNotMatch(line, /SECRET|you sent/);
    assert.ok(!line.includes(sent.replace('Basic ', '')));
  });
});
