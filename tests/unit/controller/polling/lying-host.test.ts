import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { suite, type TestContext, test } from 'node:test';
import { packet } from '../../../../controller/polling/pkt-line.ts';
import { TransientError } from '../../../../shared/errors.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { startTcpServer } from '../../../support/tcp-server.ts';
import { ADVERTISEMENT, clientFor, SERVICE, startHost, startLyingHost, VERSION_2 } from './query-world.ts';

const first = 'a'.repeat(40);
const second = 'b'.repeat(40);
const main = { prefixes: ['refs/heads/main'] };

/** Asserts a transient error that doesn't name the repository or its refs. */
async function assertTriedAgain(query: Promise<unknown>): Promise<void> {
  await assert.rejects(query, (error) => {
    assert.ok(error instanceof TransientError, String(error));
    assert.equal(error.reason, 'GitUnreachable');
    assert.doesNotMatch(error.message, /secret words/);
    return true;
  });
}

/** An advertisement of protocol version 0. */
const version0 = (...lines: string[]) => `${SERVICE}${lines.map((line) => packet(`${line}\n`)).join('')}0000`;

suite('an incomplete response is retried if', () => {
  const ref = packet(`${first} refs/heads/other\n`);
  for (const [name, answer] of [
    ['it has no bytes', ''],
    ['it is cut off between two packets', ref],
    ['it is cut off in a packet', ref.slice(0, -3)],
    ['an error comes after refs', `${ref}${packet('ERR access denied or repository not exported')}0000`],
    ['it says that there is no such ref, by an error', packet('ERR upload-pack: not our ref')],
    ['it is a page', '<html>secret words</html>'],
    ['a line is no ref', `${ref}${packet('secret words\n')}0000`],
    ['a hash is an option', `${packet(`${'--upload-pack=x'.padEnd(40, '0')} refs/heads/main\n`)}0000`],
    ['a peeled hash is none', `${packet(`${first} refs/heads/main peeled:${'A'.repeat(40)}\n`)}0000`],
  ] as const) {
    test(`the refs are requested and ${name}`, async (t) => {
      await assertTriedAgain(clientFor(t, await startLyingHost(t, answer)).query(main));
    });
  }

  for (const [name, answer] of [
    ['is cut off after the name of the service', SERVICE],
    ['is cut off between two packets', VERSION_2.slice(0, -4)],
    ['of an old host has a hash that is none', version0(`${'Z'.repeat(40)} refs/heads/main\0agent=git`)],
    ['is an error', `${packet('ERR secret words')}`],
  ] as const) {
    test(`the advertisement ${name}`, async (t) => {
      const url = await startHost(t, (_, response) => {
        response.writeHead(200, { 'Content-Type': ADVERTISEMENT }).end(answer);
      });
      await assertTriedAgain(clientFor(t, url).query(main));
    });
  }

  test('a commit is requested and the server reports an error', async (t) => {
    const url = await startLyingHost(t, packet('ERR secret words'));
    await assertTriedAgain(clientFor(t, url).query({ prefixes: [], commit: first }));
  });

  for (const answer of ['', packet('ERR secret words'), `003e${first} HEAD\0x`]) {
    test(`a server with git:// says ${JSON.stringify(answer.slice(0, 12))}`, async (t) => {
      await assertTriedAgain(clientFor(t, await startGitHost(t, answer)).query(main));
    });
  }
});

suite('a git server', () => {
  test('is queried at the place that it redirects to', async (t) => {
    const asked: string[] = [];
    const url = await startHost(t, async (request, response) => {
      const body = await text(request);
      asked.push(`${request.method} ${request.url}`);
      if (request.url === '/app.git/info/refs?service=git-upload-pack')
        return response.writeHead(302, { Location: '/moved.git/info/refs?service=git-upload-pack' }).end();
      if (request.method === 'GET') {
        response.writeHead(200, { 'Content-Type': ADVERTISEMENT });
        const formats = packet('ls-refs\n') + packet('object-format=sha256\n');
        return response.end(VERSION_2.replace(packet('ls-refs\n'), formats));
      }
      assert.ok(body.includes('object-format=sha256'));
      response.writeHead(200, { 'Content-Type': 'application/x-git-upload-pack-result' });
      return response.end(body.includes('ls-refs') ? '0000' : packet('packfile\n'));
    });
    const commit = 'a'.repeat(64);
    const refs = await clientFor(t, url).query({ prefixes: ['refs/heads/main', 'refs/tags/'], commit });
    assert.equal(refs.get(commit), commit);
    assert.deepEqual(new Set(asked.slice(2)), new Set(['POST /moved.git/git-upload-pack']));
  });

  for (const [what, line, refs] of [
    ['of an annotated tag', `${first} refs/heads/main peeled:${second}`, { 'refs/heads/main': second }],
    ['with something else', `${first} refs/heads/main symref-target:x peeled:${second}`, { 'refs/heads/main': second }],
    ['that only points elsewhere', `${first} refs/heads/main symref-target:refs/heads/x`, { 'refs/heads/main': first }],
    ['of SHA-256', `${'a'.repeat(64)} refs/heads/main`, { 'refs/heads/main': 'a'.repeat(64) }],
    ['of a branch without commits', 'unborn refs/heads/main symref-target:refs/heads/x', {}],
  ] as const)
    test(`is understood in a line ${what}`, async (t) => {
      const answer = await clientFor(t, await startLyingHost(t, `${packet(`${line}\n`)}0000`)).query(main);
      assert.deepEqual(Object.fromEntries(answer), refs);
    });

  for (const section of ['packfile', 'shallow-info', 'acknowledgments', 'wanted-refs'])
    test(`has a commit if it begins to send it: ${section}`, async (t) => {
      const client = clientFor(t, await startLyingHost(t, packet(`${section}\n`)));
      assert.equal((await client.query({ prefixes: [], commit: first })).get(first), first);
    });

  test("isn't read beyond the end of its response", { timeout: 30_000 }, async (t) => {
    const { url, sent } = await startFlood(t, '0000');
    const refs = await clientFor(t, url).query(main);
    assert.deepEqual(Object.fromEntries(refs), { 'refs/heads/main': first });
    assert.ok(sent() < 32 * 1024 * 1024, `${sent()} bytes were taken`);
  });

  test('is abandoned if it sends keep-alives but no response', { timeout: 30_000 }, async (t) => {
    const url = await startHost(t, (_, response) => {
      flood(response.writeHead(200, { 'Content-Type': ADVERTISEMENT }), '0000');
    });
    await assertTriedAgain(clientFor(t, url).query(main));
  });

  for (const words of [
    `upload-pack: not our ref ${first}`,
    `want ${first} not valid`,
    `upload-pack: Server does not allow request for unadvertised object ${first}`,
  ])
    test(`is believed if it says that it doesn't serve a commit: ${words}`, async (t) => {
      const client = clientFor(t, await startLyingHost(t, packet(`ERR ${words}`)));
      assert.equal((await client.query({ prefixes: [], commit: first })).size, 0);
    });

  test("has no commit with an ID of another hash, and isn't queried for it", async (t) => {
    for (const [format, ids] of [
      ['sha256', 40],
      ['sha1', 64],
    ] as const) {
      let posts = 0;
      const url = await startHost(t, (request, response) => {
        if (request.method === 'POST') posts += 1;
        const formats = packet('ls-refs\n') + packet(`object-format=${format}\n`);
        response.writeHead(200, { 'Content-Type': ADVERTISEMENT });
        response.end(request.method === 'POST' ? '' : VERSION_2.replace(packet('ls-refs\n'), formats));
      });
      const refs = await clientFor(t, url).query({ prefixes: [], commit: 'a'.repeat(ids) });
      assert.deepEqual([refs.size, posts], [0, 0]);
    }
  });

  test("stays rejected if it doesn't serve git", async (t) => {
    const url = await startHost(t, (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>a page</html>');
    });
    await assert.rejects(clientFor(t, url).query(main), { name: 'TerminalError', reason: 'RepositoryNotFound' });
  });

  test('without protocol version 2 knows the tips of branches and tags by their hash, and no others', async (t) => {
    const third = 'c'.repeat(40);
    const url = await startHost(t, (_, response) => {
      const lines = [
        `${first} HEAD\0multi_ack object-format=sha1`,
        `${first} refs/heads/main`,
        `${third} refs/pull/1/head`,
        `${'d'.repeat(40)} refs/tags/v1`,
        `${second} refs/tags/v1^{}`,
      ];
      response.writeHead(200, { 'Content-Type': ADVERTISEMENT }).end(version0(...lines));
    });
    const prefixes = ['refs/tags/v1', 'refs/heads/'];
    const named = { 'refs/tags/v1': second };
    for (const [commit, found] of [
      [first, { 'refs/heads/main': first, [first]: first }],
      [second, { [second]: second }],
      [third, {}],
    ] as const) {
      const refs = await clientFor(t, url).query({ prefixes, commit });
      assert.deepEqual(Object.fromEntries(refs), { ...named, ...found });
    }
  });

  test('with protocol version 2 is queried for everything at once, and names the requested refs', async (t) => {
    const server = await gitServerFor(t);
    const repository = await server.createRepository('app');
    const old = await repository.commit({ files: { a: '1' } });
    await repository.tag('v1', { annotated: true });
    await repository.branch('main2', old);
    const tip = await repository.commit({ files: { a: '2' } });
    const many = Array.from({ length: 2_500 }, (_, index) => `refs/heads/none-${index}`);
    const client = clientFor(t, repository.url);
    const absent = 'e'.repeat(40);
    const prefixes = ['refs/heads/main', 'refs/tags/v1'];
    const named = { 'refs/heads/main': tip, 'refs/tags/v1': old };
    assert.deepEqual(Object.fromEntries(await client.query({ prefixes, commit: absent })), named);
    assert.deepEqual(Object.fromEntries(await client.query({ prefixes, commit: old })), { ...named, [old]: old });
    const bare = await client.query({ prefixes: ['refs/heads/', 'refs/tags/'], commit: tip });
    assert.deepEqual(Object.fromEntries(bare), { 'refs/heads/main': tip, [tip]: tip });
    const more = await client.query({ prefixes: [...many, 'refs/heads/main', 'HEAD'] });
    assert.deepEqual(Object.fromEntries(more), { HEAD: tip, 'refs/heads/main': tip });
  });
});

/** Writes the same text until the client disconnects; returns the number of bytes. */
function flood(response: ServerResponse, text: string): () => number {
  const batch = text.repeat(16_384 / text.length);
  let bytes = 0;
  const write = () => {
    do bytes += batch.length;
    while (response.write(batch));
  };
  response.on('drain', write).on('error', () => {});
  write();
  return () => bytes;
}

/** Starts servers with correct advertisements and refs, each followed by a flood of the same text. */
async function startFlood(t: TestContext, text: string): Promise<{ url: string; sent: () => number }> {
  const floods: (() => number)[] = [];
  const url = await startHost(t, (request, response) => {
    const answer = request.url?.includes('/info/refs') ? VERSION_2 : `${packet(`${first} refs/heads/main\n`)}0000`;
    response.writeHead(200, { 'Content-Type': ADVERTISEMENT }).write(answer);
    floods.push(flood(response, text));
  });
  return { url, sent: () => floods.reduce((sum, bytes) => sum + bytes(), 0) };
}

/** Starts a git:// server that sends the same bytes to each client. */
async function startGitHost(t: TestContext, answer: string): Promise<string> {
  const port = await startTcpServer(t, (socket) => socket.once('data', () => socket.end(answer)));
  return `git://127.0.0.1:${port}/app.git`;
}
