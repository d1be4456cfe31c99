import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { slow } from '../../../support/depth.ts';
import { answerFetches, fetchAnswer } from '../../../support/fetch-answers.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { startHttpHost } from '../../../support/http-host.ts';
import { localHttp } from '../../../support/local-http.ts';
import { accessTo, gitSandbox } from '../support/git-sandbox.ts';
import { createSandbox } from '../support/sandbox.ts';

const NO_COMMIT = 'a'.repeat(40);

const notFound: RequestListener = (_, response) => void response.writeHead(404).end();

/** A server that records requests: method, path, and Authorization. */
async function startEvilHost(t: TestContext, answer = notFound, address?: string) {
  const heard: (string | undefined)[][] = [];
  const listener: RequestListener = (request, response) => {
    heard.push([request.method, request.url, request.headers.authorization]);
    answer(request, response);
  };
  return { url: await startHttpHost(t, listener, address), heard };
}

/** Sends every request on to the same path below a URL. */
const sendTo =
  (base: string, status = 302): RequestListener =>
  (request, response) =>
    void response.writeHead(status, { location: `${base}${request.url}` }).end();

/** A repository of a server that requires credentials, and an agent that has them. */
async function startPrivate(t: TestContext, name = 'x') {
  const server = await gitServerFor(t, { tls: true, credentials: { password: 'secret' } });
  const { repo, commit, sandbox } = await gitSandbox(t, name, { server, files: await accessTo(t, server) });
  return { server, sandbox, target: { repo, commit: await commit({ files: { a: '1' } }) } };
}

suite('a redirect', () => {
  test('passes credentials to no other origin, over https or http', slow, async (t) => {
    const { server, sandbox, target } = await startPrivate(t);
    const evil = await startEvilHost(t);
    const { server: other } = await startPrivate(t);
    for (const [to, status] of [
      [evil.url, 301],
      [other.url, 302],
      ['http://169.254.169.254/latest', 307],
    ] as const) {
      server.redirect = sendTo(to, status);
      await assert.rejects(sandbox.sync(target), { name: 'TerminalError', code: 'git.redirect' });
    }
    assert.deepEqual(evil.heard, []);
    assert.deepEqual(other.requests, []);
    assert.deepEqual(await sandbox.files(), {});
    server.redirect = undefined;
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { a: '1' });
  });

  test('of the request for the pack is not followed', async (t) => {
    const { server, sandbox, target } = await startPrivate(t);
    const evil = await startEvilHost(t);
    server.redirect = (request, response) => request.method === 'POST' && sendTo(evil.url, 307)(request, response);
    await assert.rejects(sandbox.sync(target), { name: 'TerminalError', code: 'git.redirect' });
    assert.deepEqual(evil.heard, []);
  });

  test('within the origin is followed with credentials, because git servers move repositories', async (t) => {
    const { server, sandbox, target } = await startPrivate(t, 'new/x');
    server.redirect = ({ url: asked = '' }, response) =>
      asked.startsWith('/old/') && response.writeHead(301, { location: asked.replace('/old/', '/new/') }).end();
    await sandbox.sync({ ...target, repo: target.repo.replace('/new/', '/old/') });
    assert.deepEqual(await sandbox.files(), { a: '1' });
  });

  test('without credentials is followed within the server, and nowhere else', async (t) => {
    const server = await gitServerFor(t);
    const { repo: url, commit, sandbox } = await gitSandbox(t, 'x', { server });
    const target = { commit: await commit({ files: { a: '1' } }) };
    const door = await startEvilHost(t, sendTo(server.url));
    const repo = url.replace(server.url, door.url);
    await sandbox.sync({ ...target, repo });
    assert.deepEqual(await sandbox.files(), { a: '1' });
    const elsewhere = await startEvilHost(t, sendTo(server.url), '127.0.0.2');
    const before = server.requests.length;
    const fresh = await createSandbox(t);
    await assert.rejects(fresh.sync({ ...target, repo: `${elsewhere.url}/x.git` }), { code: 'git.redirect' });
    assert.equal(server.requests.length, before);
  });
});

test('a sync that has to stop does so while a server delays the redirect', {
  timeout: 60_000,
}, async (t) => {
  const sandbox = await createSandbox(t);
  const ending = new AbortController();
  const host = await startEvilHost(t, ({ headers, url = '' }, response) => {
    if (/^git\/2\.\d/.test(headers['user-agent'] ?? '')) response.writeHead(302, { location: `/new${url}` }).end();
    else ending.abort(); // and there is no response
  });
  const began = performance.now();
  await assert.rejects(sandbox.sync({ repo: `${host.url}/x`, commit: NO_COMMIT }, ending.signal), {
    name: 'AbortError',
  });
  assert.ok(performance.now() - began < 25_000);
  assert.equal(host.heard.length, 2);
});

suite('a denied address', () => {
  const linkTo = (host: string) => ({
    '.gitmodules': `[submodule "lib"]\n\tpath = lib\n\turl = ${host}/lib.git\n`,
    lib: { submodule: NO_COMMIT },
  });
  const http = localHttp((address) => address === '127.0.0.2');

  test('is never connected to, over any transport or for a submodule', async (t) => {
    const evil = await startEvilHost(t, notFound, '127.0.0.2');
    const { host } = new URL(evil.url);
    const sandbox = await createSandbox(t, { http });
    for (const repo of [`${evil.url}/x`, `git://${host}/x`, `ssh://git@${host}/x`]) {
      await assert.rejects(sandbox.sync({ repo, commit: NO_COMMIT, ignoresHostKey: true }), {
        name: 'TerminalError',
        code: 'git.deniedAddress',
      });
    }
    const { repo, commit, sandbox: other } = await gitSandbox(t, 'x', { server: await gitServerFor(t), http });
    const target = { repo, commit: await commit({ files: linkTo(evil.url) }), submodules: true };
    await assert.rejects(other.sync(target), { name: 'TerminalError', message: /^submodule lib: / });
    assert.deepEqual(evil.heard, []);
  });

  test(
    'is never connected to if a server refers to it for a pack, and neither is any other address',
    slow,
    async (t) => {
      const denied = await startEvilHost(t, notFound, '127.0.0.2');
      const other = await startEvilHost(t);
      const uris = [denied, other].map(({ url }) => `${url}/latest?from=here`);
      const server = await gitServerFor(t);
      const { repo: url, commit, sandbox } = await gitSandbox(t, 'x', { server, http });
      for (const uri of uris) {
        const host = await startEvilHost(
          t,
          answerFetches(() => fetchAnswer([], [uri])),
        );
        await assert.rejects(sandbox.sync({ repo: `${host.url}/x`, commit: NO_COMMIT }), {
          name: 'TransientError',
        });
        const target = { repo: url, commit: await commit({ files: linkTo(host.url) }), submodules: true };
        await assert.rejects(sandbox.sync(target), { message: /^submodule lib: / });
        assert.ok(host.heard.filter(([method]) => method === 'POST').length > 1, 'it was asked, and for the submodule');
      }
      assert.deepEqual([...denied.heard, ...other.heard], []);
    },
  );
});
