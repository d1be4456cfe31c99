import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { before, suite, type TestContext, test } from 'node:test';
import { LfsStore } from '../../../../agent/lfs/lfs-store.ts';
import { type GitServer, type GitServerOptions, startGitServer } from '../../../../scripts/testbed/git-server.ts';
import { makeTemporaryFolder } from '../../../../scripts/testbed/temporary-folder.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import { provideGitLfs } from '../../../support/git-lfs.ts';
import { createLfsHost, type LfsHost } from '../../../support/lfs-host.ts';
import { createSandbox } from '../../../unit/agent/support/sandbox.ts';

before(provideGitLfs);

interface World {
  server: GitServer;
  lfs: LfsHost;
}

async function startWorld(t: TestContext, options: GitServerOptions = {}): Promise<World> {
  const server = await startGitServer(options);
  t.after(() => server.stop());
  const lfs = createLfsHost(`${server.url}/x.git/info/lfs/objects`);
  server.lfs = lfs.listener;
  return { server, lfs };
}

const mapped = (more: object = {}) => ({
  mappings: [{ source: 'config', destination: 'config', required: true, template: false, ...more }],
});

suite('files in Git LFS', () => {
  test('are delivered as what they are, fetched at once, and repaired without a word to the host', async (t) => {
    const { server, lfs } = await startWorld(t);
    const { url: repo, commit } = await server.createRepository('x');
    const large = randomBytes(3 * 1024 * 1024).toString('base64');
    const many = Object.fromEntries(
      Array.from({ length: 20 }, (_, n) => [`config/many/${n}`, lfs.add(`content ${n}`)]),
    );
    const unmapped = lfs.add('not mapped');
    const files = { 'config/large': lfs.add(large), 'config/plain': 'plain', ...many, 'media/film': unmapped };
    const sandbox = await createSandbox(t);
    const target = { repo, commit: await commit({ files }), profile: mapped() };
    const { plan } = await sandbox.sync(target);
    assert.equal(plan.changes.length, 22);
    const delivered = await sandbox.files();
    assert.ok(delivered['config/large'] === large, 'another content');
    assert.equal(delivered['config/plain'], 'plain');
    assert.equal(delivered['config/many/7'], 'content 7');
    assert.equal(lfs.requests.filter(({ path: file }) => file.endsWith('/batch')).length, 1);
    const downloads = lfs.requests.map(({ path: file }) => file).join();
    assert.ok(!downloads.includes(/sha256:(\w+)/.exec(unmapped)?.[1] ?? '?'), 'what is not mapped is left there');
    assert.deepEqual((await sandbox.sync(target)).plan.changes, []);
    const requests = server.requests.length;
    await writeFile(path.join(sandbox.data, 'config/many/7'), 'x');
    await sandbox.sync(target);
    assert.equal((await sandbox.files())['config/many/7'], 'content 7');
    assert.equal(server.requests.length, requests);
  });

  test('take the place of pointers that somebody put there', async (t) => {
    const { server, lfs } = await startWorld(t);
    const { url: repo, commit } = await server.createRepository('x');
    const pointer = lfs.add('content');
    const sandbox = await createSandbox(t);
    await writeFile(path.join(sandbox.data, 'a'), pointer);
    await sandbox.sync({ repo, commit: await commit({ files: { a: pointer } }) });
    assert.deepEqual(await sandbox.files(), { a: 'content' });
  });

  test('take no room any more once nothing needs them', async (t) => {
    const { server, lfs } = await startWorld(t);
    const { url: repo, commit } = await server.createRepository('x');
    const sandbox = await createSandbox(t);
    await sandbox.sync({ repo, commit: await commit({ files: { a: lfs.add('first'), b: lfs.add('same') } }) });
    await sandbox.sync({ repo, commit: await commit({ files: { a: lfs.add('second') } }) });
    const store = path.join(sandbox.repo, 'sync-agent-lfs');
    const sums = ['second', 'same'].map((content) => createHash('sha256').update(content).digest('hex'));
    await new LfsStore({ git: sandbox.git, path: store }).tidy(() => new Set(sums));
    const entries = await readdir(path.join(store, 'lfs/objects'), { recursive: true, withFileTypes: true });
    const left = entries.flatMap((entry) => (entry.isFile() ? [entry.name] : []));
    assert.deepEqual(left.sort(), sums.sort());
  });

  test('may be templates, and be patched', async (t) => {
    const { server, lfs } = await startWorld(t);
    const { url: repo, commit } = await server.createRepository('x');
    const sandbox = await createSandbox(t);
    const profile = mapped({ template: true, patches: [{ file: 'a.json', set: { n: '2' } }] });
    const files = { 'config/a.json': lfs.add('{"name": "{{ .GatewayName }}", "n": 1}') };
    await sandbox.sync({ repo, commit: await commit({ files }), profile });
    assert.deepEqual(await sandbox.files(), { 'config/a.json': '{"name": "edge", "n": 2}' });
  });

  test('need credentials, which stay with the origin of the repository', async (t) => {
    const { server, lfs } = await startWorld(t, { tls: true, credentials: { password: 'lfs-secret' } });
    const { url: repo, commit } = await server.createRepository('x');
    const tokenFile = path.join((await createSandbox(t)).folder, 'token');
    await writeFile(tokenFile, 'lfs-secret');
    const elsewhere = await startWorld(t, { tls: true });
    elsewhere.lfs.objects = lfs.objects;
    const other = `${elsewhere.server.url}/x.git/info/lfs`;
    const caFile = path.join(path.dirname(tokenFile), 'ca');
    const certificates = [server.caFile, elsewhere.server.caFile].map((file) => readFile(file ?? '', 'utf8'));
    await writeFile(caFile, (await Promise.all(certificates)).join('\n'));
    const config = `[lfs]\n\turl = ${other}\n[remote "origin"]\n\tlfsurl = ${other}\n`;
    const sandbox = await createSandbox(t, { environment: { GIT_TOKEN_FILE: tokenFile, GIT_CA_FILE: caFile } });
    const first = { a: lfs.add('first'), '.lfsconfig': config };
    await sandbox.sync({ repo, commit: await commit({ files: first }) });
    assert.equal((await sandbox.files()).a, 'first');
    assert.deepEqual(elsewhere.lfs.requests, []);
    assert.ok(lfs.requests.every(({ authorization }) => authorization?.startsWith('Basic ')));
    lfs.downloadUrl = `${other}/objects`;
    await sandbox.sync({ repo, commit: await commit({ files: { a: lfs.add('second') } }) });
    lfs.downloadUrl = `${server.url}/x.git/info/lfs/objects`;
    lfs.redirectUrl = `${other}/objects`;
    await sandbox.sync({ repo, commit: await commit({ files: { a: lfs.add('third') } }) });
    assert.equal((await sandbox.files()).a, 'third');
    assert.equal(elsewhere.lfs.requests.length, 2);
    assert.ok(elsewhere.lfs.requests.every(({ authorization }) => authorization === undefined));
    const entries = await readdir(sandbox.repo, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((candidate) => candidate.isFile())) {
      const content = await readFile(path.join(entry.parentPath, entry.name), 'latin1');
      assert.ok(!content.includes('lfs-secret'), entry.name);
      assert.ok(!content.includes(Buffer.from('x-access-token:lfs-secret').toString('base64')), entry.name);
    }
    await writeFile(tokenFile, 'wrong');
    server.credentials = { password: 'other' };
    const last = await commit({ files: { a: lfs.add('fourth') } });
    await assert.rejects(sandbox.sync({ repo, commit: last }), { code: 'git.authentication' });
  });

  test('that the host does not have, or spoils, are not delivered', async (t) => {
    const { server, lfs } = await startWorld(t);
    const { url: repo, commit } = await server.createRepository('x');
    const sandbox = await createSandbox(t);
    const first = { a: lfs.add('content'), b: 'plain' };
    const oid = /sha256:(\w+)/.exec(first.a)?.[1] ?? '';
    lfs.objects.delete(oid);
    const target = { repo, commit: await commit({ files: first }) };
    await assert.rejects(sandbox.sync(target), { name: 'TerminalError', code: 'lfs.objectNotFound' });
    lfs.objects.set(oid, Buffer.from('swapped'));
    await assert.rejects(sandbox.sync(target), { name: 'TransientError' });
    assert.deepEqual(await sandbox.files(), {});
    lfs.objects.set(oid, Buffer.from('content'));
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { a: 'content', b: 'plain' });
    const damaged = 'version https://git-lfs.github.com/spec/v1\noid sha256:../../x\nsize 9\n';
    const next = { repo, commit: await commit({ files: { a: damaged } }) };
    await assert.rejects(sandbox.sync(next), { name: 'TerminalError', code: 'lfs.pointer' });
    assert.deepEqual(await sandbox.files(), { a: 'content', b: 'plain' });
  });

  test('are refused, and change nothing, where the host has no Git LFS, as a dry run says as well', async (t) => {
    const { server, lfs } = await startWorld(t);
    server.lfs = undefined;
    const { url: repo, commit } = await server.createRepository('x');
    const sandbox = await createSandbox(t);
    const target = { repo, commit: await commit({ files: { a: '1', big: lfs.add('content') } }) };
    const refusal = { name: 'TerminalError', message: /kept in Git LFS, and the git host has no Git LFS/ };
    await assert.rejects(sandbox.sync({ ...target, profile: { dryRun: true } }), refusal);
    await assert.rejects(sandbox.sync(target), refusal);
    assert.deepEqual(await sandbox.files(), {});
  });

  test('are refused in words where there is no git-lfs', async (t) => {
    const { server, lfs } = await startWorld(t);
    const { url: repo, commit } = await server.createRepository('x');
    const { path: bin, remove } = await makeTemporaryFolder('no-lfs-');
    t.after(remove);
    const git = (process.env.PATH ?? '').split(path.delimiter).map((folder) => path.join(folder, 'git'));
    const real = await firstReadable(git);
    await writeFile(path.join(bin, 'git'), `#!/bin/sh\nexec ${real} "$@"\n`, { mode: 0o755 });
    const sandbox = await createSandbox(t, { git: new Git({ PATH: bin }) });
    const target = { repo, commit: await commit({ files: { a: '1', 'config/b': lfs.add('content') } }) };
    await assert.rejects(sandbox.sync(target), {
      name: 'TerminalError',
      code: 'lfs.notInstalled',
      message: /no git-lfs/,
    });
    assert.deepEqual(await sandbox.files(), {});
    await sandbox.sync({ ...target, profile: { excludePatterns: ['config/'] } });
    assert.deepEqual(await sandbox.files(), { a: '1' });
  });
});

async function firstReadable(files: string[]): Promise<string> {
  for (const file of files) {
    if (await readFile(file).catch(() => undefined)) return file;
  }
  throw new Error('git is not installed');
}
