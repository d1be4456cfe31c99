import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import type { GitServer } from '../../../../scripts/testbed/git-server.ts';
import { slow } from '../../../support/depth.ts';
import { answerFetches, fetchAnswer } from '../../../support/fetch-answers.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { localHttp } from '../../../support/local-http.ts';
import { gitSandbox } from '../support/git-sandbox.ts';
import { createSandbox } from '../support/sandbox.ts';

interface EvilHost {
  url: string;
  /** Received requests: method, path, and Authorization. */
  heard: (string | undefined)[][];
}

/** A server that records requests, with configurable responses. */
async function startEvilHost(t: TestContext, answer: RequestListener, address = '127.0.0.1'): Promise<EvilHost> {
  const heard: EvilHost['heard'] = [];
  const server = createServer((request, response) => {
    heard.push([request.method, request.url, request.headers.authorization]);
    answer(request, response);
  });
  server.listen(0, address);
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://${address}:${(server.address() as AddressInfo).port}`, heard };
}

/** Sends every request on to the same path below a URL. */
const sendTo =
  (base: string, status = 302): RequestListener =>
  (request: IncomingMessage, response) =>
    void response.writeHead(status, { location: `${base}${request.url}` }).end();

async function startServer(t: TestContext, tls = false): Promise<GitServer> {
  const server = await gitServerFor(t, tls ? { tls, credentials: { password: 'secret' } } : {});
  return server;
}

async function withToken(t: TestContext, server: GitServer) {
  const tokenFile = path.join((await createSandbox(t)).directory, 'token');
  await writeFile(tokenFile, 'secret');
  return { tokenFile, caFile: server.caFile };
}

suite('a redirect', () => {
  test('passes credentials to no other origin, over https or http', slow, async (t) => {
    const server = await startServer(t, true);
    const { repo, commit, sandbox } = await gitSandbox(t, 'x', { server, files: await withToken(t, server) });
    const target = { repo, commit: await commit({ files: { a: '1' } }) };
    const evil = await startEvilHost(t, (_, response) => void response.writeHead(404).end());
    const other = await startServer(t, true);
    for (const to of [evil.url, other.url, 'http://169.254.169.254/latest']) {
      for (const status of [301, 302, 307, 308]) {
        server.redirect = sendTo(to, status);
        await assert.rejects(sandbox.sync(target), { name: 'TerminalError', code: 'git.redirect' });
      }
    }
    assert.deepEqual(evil.heard, []);
    assert.deepEqual(other.requests, []);
    assert.deepEqual(await sandbox.files(), {});
    server.redirect = undefined;
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { a: '1' });
  });

  test('of the request for the pack is not followed', async (t) => {
    const server = await startServer(t, true);
    const { repo, commit, sandbox } = await gitSandbox(t, 'x', { server, files: await withToken(t, server) });
    const target = { repo, commit: await commit({ files: { a: '1' } }) };
    const evil = await startEvilHost(t, (_, response) => void response.writeHead(404).end());
    server.redirect = (request, response) => request.method === 'POST' && sendTo(evil.url, 307)(request, response);
    await assert.rejects(sandbox.sync(target), { name: 'TerminalError', code: 'git.redirect' });
    assert.deepEqual(evil.heard, []);
  });

  test('within the origin is followed with credentials, because git servers move repositories', async (t) => {
    const server = await startServer(t, true);
    const { repo: url, commit, sandbox } = await gitSandbox(t, 'new/x', { server, files: await withToken(t, server) });
    const target = { repo: url.replace('/new/', '/old/'), commit: await commit({ files: { a: '1' } }) };
    server.redirect = ({ url: asked = '' }, response) =>
      asked.startsWith('/old/') && response.writeHead(301, { location: asked.replace('/old/', '/new/') }).end();
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { a: '1' });
  });

  test('without credentials is followed within the server, and nowhere else', async (t) => {
    const server = await startServer(t);
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

  test('in a loop, or to a place without a repository, ends', async (t) => {
    const sandbox = await createSandbox(t);
    const commit = 'a'.repeat(40);
    const circle = await startEvilHost(t, (request, response) => sendTo('')(request, response));
    await assert.rejects(sandbox.sync({ repo: `${circle.url}/x`, commit }), { code: 'git.redirectLoop' });
    assert.ok(circle.heard.length < 10, `${circle.heard.length} requests`);
    const astray = await startEvilHost(t, (_, response) => void response.writeHead(302, { location: '/login' }).end());
    await assert.rejects(sandbox.sync({ repo: `${astray.url}/x`, commit }));
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
  const commit = 'a'.repeat(40);
  await assert.rejects(sandbox.sync({ repo: `${host.url}/x`, commit }, ending.signal), { name: 'AbortError' });
  assert.ok(performance.now() - began < 25_000);
  assert.equal(host.heard.length, 2);
});

suite('a denied address', () => {
  const http = localHttp((address) => address === '127.0.0.2');

  test('is never connected to, over any transport', async (t) => {
    const evil = await startEvilHost(t, (_, response) => void response.writeHead(404).end(), '127.0.0.2');
    const { host } = new URL(evil.url);
    const sandbox = await createSandbox(t, { http });
    for (const repo of [`${evil.url}/x`, `git://${host}/x`, `ssh://git@${host}/x`]) {
      await assert.rejects(sandbox.sync({ repo, commit: 'a'.repeat(40), ignoresHostKey: true }), {
        name: 'TerminalError',
        code: 'git.deniedAddress',
      });
    }
    assert.deepEqual(evil.heard, []);
  });

  test(
    'is never connected to if a server refers to it for a pack, and neither is any other address',
    slow,
    async (t) => {
      const denied = await startEvilHost(t, (_, response) => void response.writeHead(404).end(), '127.0.0.2');
      const other = await startEvilHost(t, (_, response) => void response.writeHead(404).end());
      const uris = [denied, other].map(({ url }) => `${url}/latest?from=here`);
      const server = await startServer(t);
      const { repo: url, commit, sandbox } = await gitSandbox(t, 'x', { server, http });
      for (const uri of uris) {
        const host = await startEvilHost(
          t,
          answerFetches(() => fetchAnswer([], [uri])),
        );
        await assert.rejects(sandbox.sync({ repo: `${host.url}/x`, commit: 'a'.repeat(40) }), {
          name: 'TransientError',
        });
        const modules = `[submodule "lib"]\n\tpath = lib\n\turl = ${host.url}/lib.git\n`;
        const files = { '.gitmodules': modules, lib: { submodule: 'a'.repeat(40) } };
        const target = { repo: url, commit: await commit({ files }), submodules: true };
        await assert.rejects(sandbox.sync(target), { message: /^submodule lib: / });
        assert.ok(host.heard.filter(([method]) => method === 'POST').length > 1, 'it was asked, and for the submodule');
      }
      assert.deepEqual([...denied.heard, ...other.heard], []);
    },
  );

  test('is never connected to for a submodule', async (t) => {
    const evil = await startEvilHost(t, (_, response) => void response.writeHead(404).end(), '127.0.0.2');
    const server = await startServer(t);
    const { repo, commit, sandbox } = await gitSandbox(t, 'x', { server, http });
    const modules = `[submodule "lib"]\n\tpath = lib\n\turl = ${evil.url}/lib.git\n`;
    const files = { '.gitmodules': modules, lib: { submodule: 'a'.repeat(40) } };
    await assert.rejects(sandbox.sync({ repo, commit: await commit({ files }), submodules: true }), {
      name: 'TerminalError',
      message: /^submodule lib: /,
    });
    assert.deepEqual(evil.heard, []);
  });
});
