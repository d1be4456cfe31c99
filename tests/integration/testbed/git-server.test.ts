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
