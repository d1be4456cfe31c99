import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, readlink, stat } from 'node:fs/promises';
import { request } from 'node:http';
import path from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { createGzip } from 'node:zlib';
import { git } from '../../../scripts/testbed/git-command.ts';
import { startGitDaemon } from '../../../scripts/testbed/git-daemon.ts';
import type { GitServerOptions } from '../../../scripts/testbed/git-server.ts';
import { gitServerFor } from '../../support/git-server-for.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

async function serve(t: TestContext, options?: GitServerOptions) {
  const server = await gitServerFor(t, options);
  const repository = await server.createRepository('org/site');
  return { server, repository };
}

test('the git server clones commits over smart HTTP: content, executable bit, symlink, bytes, deletion', async (t) => {
  const { repository } = await serve(t);
  const bytes = Buffer.from([0, 255, 10, 13, 0]);
  await repository.commit({ files: { 'old.txt': 'x', 'a b/é"\\.txt': 'one' } });
  const sha = await repository.commit({
    files: {
      'old.txt': null,
      'run.sh': { content: '#!/bin/sh\n', executable: true },
      link: { symlink: 'run.sh' },
      'bytes.bin': bytes,
    },
    message: 'Second\n\nwith a body',
  });

  const directory = await temporaryDirectory(t, 'git-test-');
  await git(directory, ['clone', '--quiet', repository.url, '.']);

  assert.equal(await git(directory, ['rev-parse', 'HEAD']), sha);
  assert.equal(await git(directory, ['log', '-1', '--format=%B']), 'Second\n\nwith a body');
  assert.equal(
    await git(directory, ['ls-files', '-z']),
    ['a b/é"\\.txt', 'bytes.bin', 'link', 'run.sh', ''].join('\0'),
  );
  assert.deepEqual(await readFile(path.join(directory, 'bytes.bin')), bytes);
  assert.equal(await readlink(path.join(directory, 'link')), 'run.sh');
  assert.ok((await stat(path.join(directory, 'run.sh'))).mode & 0o100);
});

test('the git server speaks protocol version 2 and counts its requests', async (t) => {
  const { server, repository } = await serve(t);
  await repository.commit({ files: { a: '1' } });
  await repository.tag('v1', { annotated: true });
  server.requests.length = 0;

  const refs = await git('/', ['ls-remote', repository.url, 'refs/tags/v1*']);

  assert.match(refs, /refs\/tags\/v1\^\{\}$/);
  const seen = server.requests.map(({ method, service, protocol, command, status }) => {
    return { method, service, protocol, command, status };
  });
  const common = { service: 'git-upload-pack', protocol: 2, status: 200 };
  assert.deepEqual(seen, [
    { ...common, method: 'GET', command: undefined },
    { ...common, method: 'POST', command: 'ls-refs' },
  ]);
  assert.equal(server.requests[0]?.repository, 'org/site');
});

test('the git server serves one commit by its ID, shallow and without the blobs', async (t) => {
  const { repository } = await serve(t);
  const first = await repository.commit({ files: { a: '1' } });
  await repository.commit({ files: { a: '2' } });
  const directory = await temporaryDirectory(t, 'git-test-');
  await git(directory, ['init', '--quiet']);

  await git(directory, ['fetch', '--quiet', '--depth=1', '--filter=blob:none', repository.url, first]);

  assert.equal(await git(directory, ['rev-parse', 'FETCH_HEAD']), first);
  assert.equal(await git(directory, ['rev-list', '--count', 'FETCH_HEAD']), '1');
});

test('the git server accepts a push', async (t) => {
  const { repository } = await serve(t);
  await repository.commit({ files: { a: '1' } });
  const directory = await temporaryDirectory(t, 'git-test-');
  await git(directory, ['clone', '--quiet', repository.url, '.']);
  await git(directory, ['commit', '--quiet', '--allow-empty', '--message', 'pushed']);

  await git(directory, ['push', '--quiet', 'origin', 'HEAD:refs/heads/other']);

  assert.equal(await repository.resolve('refs/heads/other'), await git(directory, ['rev-parse', 'HEAD']));
});

test('the git server reads chunked and compressed requests', async (t) => {
  const { server, repository } = await serve(t);
  await repository.commit({ files: { a: '1' } });
  const post = async (body: Readable, headers: Record<string, string>) => {
    const type = 'application/x-git-upload-pack-request';
    const outgoing = request(`${repository.url}/git-upload-pack`, {
      method: 'POST',
      headers: { 'content-type': type, 'git-protocol': 'version=2', ...headers },
    });
    body.pipe(outgoing);
    const [answer] = await once(outgoing, 'response');
    return await text(answer);
  };
  const packets = () => Readable.from(['0014comm', 'and=ls-refs\n0000']);

  assert.match(await post(packets(), {}), /refs\/heads\/main/);
  assert.match(await post(packets().pipe(createGzip()), { 'content-encoding': 'gzip' }), /refs\/heads\/main/);
  assert.deepEqual(
    server.requests.map(({ command }) => command),
    ['ls-refs', 'ls-refs'],
  );
});

test('the git server requires its credentials, and accepts new ones', async (t) => {
  const { server, repository } = await serve(t, { credentials: { username: 'me', password: 'secret' } });
  await repository.commit({ files: { a: '1' } });
  const list = (user: string) => git('/', ['ls-remote', repository.url.replace('//', `//${user}@`)]);

  await assert.rejects(git('/', ['ls-remote', repository.url]), /could not read Username/);
  assert.deepEqual(
    server.requests.map(({ authorised, status }) => [authorised, status]),
    [[false, 401]],
  );
  await assert.rejects(list('me:wrong'), /Authentication failed/);
  assert.match(await list('me:secret'), /refs\/heads\/main/);

  server.credentials = { token: 't0k3n' };
  const header = ['-c', 'http.extraHeader=Authorization: Bearer t0k3n'];
  assert.match(await git('/', [...header, 'ls-remote', repository.url]), /refs\/heads\/main/);
});

test('the git server serves TLS with a private CA', async (t) => {
  const { server, repository } = await serve(t, { tls: true });
  await repository.commit({ files: { a: '1' } });

  await assert.rejects(git('/', ['ls-remote', repository.url]), /certificate/);
  const refs = await git('/', ['-c', `http.sslCAInfo=${server.caFile}`, 'ls-remote', repository.url]);
  assert.match(refs, /refs\/heads\/main/);
});

test('the git server misbehaves on request: an error status, late, or no response', async (t) => {
  const { server, repository } = await serve(t);
  await repository.commit({ files: { a: '1' } });
  const target = `${repository.url}/info/refs?service=git-upload-pack`;

  server.fault = { status: 429, headers: { 'retry-after': '7' }, times: 1 };
  const refused = await fetch(target);
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '7']);
  assert.equal((await fetch(target)).status, 200);

  server.fault = { delay: 200, times: 1 };
  const started = performance.now();
  assert.equal((await fetch(target)).status, 200);
  assert.ok(performance.now() - started >= 190);

  server.fault = { hang: true };
  await assert.rejects(fetch(target, { signal: AbortSignal.timeout(200) }), { name: 'TimeoutError' });
});

test('the git server moves refs as pushes would', async (t) => {
  const { repository } = await serve(t);
  const first = await repository.commit({ files: { a: '1' } });
  const second = await repository.commit({ files: { b: '2' } });
  assert.equal(await repository.tag('v1', { target: first }), first);
  assert.equal(await repository.tag('v1', { annotated: true, force: true }), second);

  const replaced = await repository.forcePush({ files: { c: '3' } });
  assert.equal(await repository.git('rev-parse', 'main^'), first);
  assert.equal(await repository.git('ls-tree', '--name-only', replaced), 'a\nb\nc');

  await repository.branch('main', first);
  const root = await repository.forcePush({ files: { a: null, d: '4' } });
  assert.equal(await repository.git('rev-list', 'main'), root);
  assert.equal(await repository.git('ls-tree', '--name-only', root), 'd');

  await repository.deleteRef('refs/tags/v1');
  assert.equal(await repository.resolve('refs/tags/v1'), undefined);
});

test('the git server clones over git://', async (t) => {
  const daemon = await startGitDaemon();
  t.after(() => daemon.stop());
  const repository = await daemon.createRepository('site');
  const sha = await repository.commit({ files: { a: '1' } });
  const directory = await temporaryDirectory(t, 'git-test-');

  await git(directory, ['clone', '--quiet', '--depth=1', repository.url, '.']);

  assert.equal(await git(directory, ['rev-parse', 'HEAD']), sha);
});
