import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { suite, type TestContext, test } from 'node:test';
import { type LfsServer, lfsEndpoint, lfsServerOf, offersOf } from '../../../../agent/lfs/lfs-api.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import type { GitAccess } from '../../../../shared/io/git/git-environment.ts';
import { startHttpHost } from '../../../support/http-host.ts';
import { localHttp } from '../../../support/local-http.ts';

const oid = 'a'.repeat(64);
const authorization = { origin: 'https://git.test', value: 'Basic x' };

/** A git whose ssh prints this response; `asked` has the arguments of the call. */
function arrangeSsh(answer: object | string = {}) {
  const asked: string[][] = [];
  class Ssh extends Git {
    override async runBySsh(args: string[]): Promise<Buffer> {
      asked.push(args);
      return Buffer.from(typeof answer === 'string' ? answer : JSON.stringify(answer));
    }
  }
  const serverOf = (repo: string, access: GitAccess = {}) =>
    lfsServerOf(new Ssh({}), { repo, access, signal: undefined });
  return { asked, serverOf };
}

suite('the Git LFS server of a repository', () => {
  test("is found below the repository's URL, as git-lfs does it", () => {
    for (const repo of ['https://git.test/a', 'https://git.test/a/', 'https://git.test/a.git//'])
      assert.equal(lfsEndpoint(repo), 'https://git.test/a.git/info/lfs', repo);
  });

  test('gets only the credentials of its own origin', async () => {
    const { serverOf } = arrangeSsh();
    const shown = async (repo: string, access?: GitAccess) => {
      const { url, ...server } = await serverOf(repo, access);
      return { url: url.href, ...server };
    };
    const url = 'https://git.test/a.git/info/lfs';
    assert.deepEqual(await shown('https://git.test/a'), { url, headers: {}, isSecure: true });
    const headers = { Authorization: 'Basic x' };
    assert.deepEqual(await shown('https://git.test/a', { authorization }), { url, headers, isSecure: true });
    assert.deepEqual((await shown('https://other.test/a', { authorization })).headers, {});
    assert.deepEqual(await shown('http://git.test/a', { authorization }), {
      url: 'http://git.test/a.git/info/lfs',
      headers: {},
      isSecure: false,
    });
    const rewrite = { from: 'https://git.test/old', to: 'https://git.test/a.git' };
    assert.equal((await shown('https://git.test/old', { rewrite })).url, url);
    assert.equal((await shown('https://git.test/a', { rewrite })).url, url);
    await assert.rejects(serverOf('git://git.test/a'), { code: 'lfs.transport' });
  });

  const places: [repo: string, args: string[]][] = [
    ['git@git.test:a/b.git', ['--', 'git@git.test', 'git-lfs-authenticate a/b.git download']],
    ['ssh://git.test:2222/b', ['-p', '2222', '--', 'git.test', 'git-lfs-authenticate /b download']],
    ['ssh://a%40b@[2001:db8::1]/b', ['--', 'a@b@2001:db8::1', 'git-lfs-authenticate /b download']],
    ["git@git.test:it's; rm", ['--', 'git@git.test', "git-lfs-authenticate 'it'\\''s; rm' download"]],
    ['ssh://git.test/a%20b', ['--', 'git.test', "git-lfs-authenticate '/a b' download"]],
  ];
  for (const [repo, args] of places)
    test(`is located over ssh: ${repo}`, async () => {
      const { asked, serverOf } = arrangeSsh({ href: 'https://lfs.test/x', header: { 'X-A': '1', Host: 'evil' } });
      const { url, ...server } = await serverOf(repo);
      assert.deepEqual(asked, [args]);
      assert.deepEqual(
        { url: url.href, ...server },
        { url: 'https://lfs.test/x', headers: { 'X-A': '1' }, isSecure: true },
      );
    });

  for (const [what, answer, code] of [
    ['goes by http', { href: 'http://lfs.test/x' }, 'lfs.insecure'],
    ['is no URL', { href: 'lfs' }, 'lfs.unusable'],
    ['is another scheme', { href: 'file:///x' }, 'lfs.unusable'],
    ['is missing', {}, 'lfs.unusable'],
    ['is no JSON', 'hello', 'lfs.unusable'],
  ] as const)
    test(`is rejected if the response over ssh ${what}`, async () => {
      await assert.rejects(arrangeSsh(answer).serverOf('git@git.test:a'), { code });
    });
});

suite('Git LFS objects', { concurrency: 4 }, () => {
  interface Asked {
    line: string;
    headers: IncomingHttpHeaders;
    body: string;
  }

  /** Queries an object's URL from a server with this response. */
  async function ask(t: TestContext, answer: { status?: number; body?: unknown; headers?: Record<string, string> }) {
    const asked: Asked[] = [];
    const origin = await startHttpHost(t, async (request, response) => {
      asked.push({ line: `${request.method} ${request.url}`, headers: request.headers, body: await text(request) });
      const body = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body ?? {});
      response.writeHead(answer.status ?? 200, answer.headers).end(body);
    });
    const http = localHttp();
    t.after(() => http.close());
    const url = new URL(`${origin}/x.git/info/lfs/`);
    const server: LfsServer = { url, headers: { Authorization: 'Basic x' }, isSecure: false };
    const signal = AbortSignal.timeout(30_000);
    const offers = () => offersOf([{ oid, size: 7 }], { server, ca: undefined, http, signal });
    return { asked, origin, offers };
  }
  const found = (download: object, more: object = {}) => ({
    body: { transfer: 'basic', objects: [{ oid, actions: { download }, ...more }] },
  });

  test('are requested in one batch, with the credentials of the repository', async (t) => {
    const { asked, offers } = await ask(t, found({ href: 'https://store.test/o' }));
    const offer = (await offers()).get(oid);
    assert.deepEqual([offer?.url.href, offer?.headers], ['https://store.test/o', {}]);
    const [{ line, headers, body } = assert.fail('nobody was asked')] = asked;
    assert.equal(line, 'POST /x.git/info/lfs/objects/batch');
    const type = 'application/vnd.git-lfs+json';
    assert.deepEqual([headers.accept, headers['content-type'], headers.authorization], [type, type, 'Basic x']);
    assert.deepEqual(JSON.parse(body), {
      operation: 'download',
      transfers: ['basic'],
      hash_algo: 'sha256',
      objects: [{ oid, size: 7 }],
    });
  });

  const offered: [what: string, download: { href: string; header?: Record<string, string> }, headers: object][] = [
    ['at the same place', { href: '/o' }, { Authorization: 'Basic x' }],
    ['there with more headers', { href: '/o', header: { 'X-A': '1' } }, { Authorization: 'Basic x', 'X-A': '1' }],
    ['there with other credentials', { href: '/o', header: { authorization: 'y' } }, { authorization: 'y' }],
    ['elsewhere', { href: 'https://store.test/o', header: { 'X-A': '1' } }, { 'X-A': '1' }],
    [
      'with headers of the frame',
      {
        href: 'https://store.test/o',
        header: Object.fromEntries(
          ['Host', 'Connection', 'Content-Length', 'Transfer-Encoding', 'Upgrade', 'TE', 'Trailer', 'Expect', 'Range']
            .concat(['Proxy-Authorization', 'X A', 'X-B'])
            .map((name) => [name, name === 'X-B' ? 'a\nb' : '1']),
        ),
      },
      {},
    ],
  ];
  for (const [what, download, headers] of offered)
    test(`are fetched ${what} with the headers for that place`, async (t) => {
      const { origin, offers } = await ask(t, found(download));
      const offer = (await offers()).get(oid);
      assert.deepEqual(offer?.headers, headers);
      assert.equal(offer?.url.href, new URL(download.href, origin).href);
    });

  const refusals: [what: string, answer: Parameters<typeof ask>[1], error: object][] = [
    ['unauthorized', { status: 401 }, { code: 'lfs.authentication', name: 'TerminalError' }],
    ['forbidden', { status: 403 }, { code: 'lfs.authentication' }],
    ['not there', { status: 404 }, { code: 'lfs.noServer', reason: 'LfsUnavailable', name: 'TerminalError' }],
    ['gone', { status: 410 }, { code: 'lfs.noServer' }],
    [
      'busy',
      { status: 429, headers: { 'Retry-After': '7' } },
      { code: 'lfs.unreachable', name: 'TransientError', retryAfterMs: 7_000 },
    ],
    ['another success', { status: 201, ...found({ href: '/o' }) }, { code: 'lfs.unreachable' }],
    ['sent elsewhere', { status: 307, headers: { Location: 'https://other.test/' } }, { code: 'lfs.redirect' }],
    ['no JSON', { body: 'hello' }, { code: 'lfs.unusable', name: 'TransientError' }],
    ['another transfer', { body: { transfer: 'tus', objects: [] } }, { code: 'lfs.unusable' }],
    ['no URL', found({ href: 'ftp://x/' }), { code: 'lfs.unusable' }],
    ['a URL with a user', found({ href: 'https://me@store.test/o' }), { code: 'lfs.unusable' }],
    ['a URL with a password', found({ href: 'https://:pw@store.test/o' }), { code: 'lfs.unusable' }],
    [
      'an object that is not there',
      { body: { objects: [{ oid, error: { code: 404 } }] } },
      { code: 'lfs.objectNotFound' },
    ],
    ['an object that is gone', { body: { objects: [{ oid, error: { code: 410 } }] } }, { code: 'lfs.objectNotFound' }],
    ['an object without a place', { body: { objects: [{ oid }] } }, { code: 'lfs.objectNotFound' }],
    ['an object that is forbidden', found({ href: '/o' }, { error: { code: 403 } }), { code: 'lfs.authentication' }],
    ['an object that needs a user', found({ href: '/o' }, { error: { code: 401 } }), { code: 'lfs.authentication' }],
    ['an object with an error', found({ href: '/o' }, { error: { code: 500 } }), { code: 'lfs.unreachable' }],
  ];
  for (const [what, answer, error] of refusals)
    test(`are not delivered if the response is invalid: ${what}`, async (t) => {
      await assert.rejects((await ask(t, answer)).offers(), error);
    });
});
