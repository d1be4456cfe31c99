import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { parseLfsPointer } from '../../../../agent/lfs/lfs-pointer.ts';
import { LfsStore } from '../../../../agent/lfs/lfs-store.ts';
import type { GitServer, GitServerOptions } from '../../../../scripts/testbed/git-server.ts';
import { AddressGuard } from '../../../../shared/io/address-guard.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import { GuardedHttp } from '../../../../shared/io/http/guarded-http.ts';
import { REFUSING } from '../../../support/dead-address.ts';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { createLfsHost, createLfsRepository, type LfsHost, WITHOUT_ATTRIBUTES } from '../../../support/lfs-host.ts';
import { localHttp } from '../../../support/local-http.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { createSandbox } from '../support/sandbox.ts';
import { importable, runInSmallHeap } from '../support/small-heap.ts';

interface World {
  server: GitServer;
  lfs: LfsHost;
}

async function startWorld(t: TestContext, options: GitServerOptions = {}): Promise<World> {
  const server = await gitServerFor(t, options);
  const lfs = createLfsHost(`${server.url}/x.git/info/lfs/objects`);
  server.lfs = lfs.listener;
  return { server, lfs };
}

const mapped = (more: object = {}) => ({
  mappings: [{ source: 'config', destination: 'config', required: true, template: false, ...more }],
});

suite('files in Git LFS', () => {
  test(
    'are delivered with their content, fetched at once, and repaired without a request to the server',
    slow,
    async (t) => {
      const { server, lfs } = await startWorld(t);
      const { url: repo, commit } = await createLfsRepository(server);
      const large = randomBytes(3 * 1024 * 1024).toString('base64');
      const many = Object.fromEntries(
        Array.from({ length: 20 }, (_, n) => [`config/many/${n}`, lfs.add(`content ${n}`)]),
      );
      const unmapped = lfs.add('not mapped');
      const files = { 'config/large': lfs.add(large), 'config/plain': 'plain', ...many, 'media/film': unmapped };
      const sandbox = await createSandbox(t);
      const target = { ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files }), profile: mapped() };
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
    },
  );

  test('are fetched once if several pointers name them', async (t) => {
    const { server, lfs } = await startWorld(t);
    const { url: repo, commit } = await createLfsRepository(server);
    const sandbox = await createSandbox(t);
    const content = randomBytes(512 * 1024).toString('hex');
    const pointer = lfs.add(content);
    const files = { a: pointer, b: `${pointer}\n`, c: `${pointer}\n\n` };
    await sandbox.sync({ ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files }) });
    assert.ok(Object.values(await sandbox.files()).every((delivered) => delivered === content));
    assert.equal(lfs.requests.filter(({ path: file }) => !file.endsWith('/batch')).length, 1);
  });

  test('replace pointers that were written to their place', async (t) => {
    const { server, lfs } = await startWorld(t);
    const { url: repo, commit } = await createLfsRepository(server);
    const pointer = lfs.add('content');
    const sandbox = await createSandbox(t);
    await writeFile(path.join(sandbox.data, 'a'), pointer);
    await sandbox.sync({ ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files: { a: pointer } }) });
    assert.deepEqual(await sandbox.files(), { a: 'content' });
  });

  test('take no space once they are no longer needed', slow, async (t) => {
    const { server, lfs } = await startWorld(t);
    const { url: repo, commit } = await createLfsRepository(server);
    const sandbox = await createSandbox(t);
    await sandbox.sync({
      ...WITHOUT_ATTRIBUTES,
      repo,
      commit: await commit({ files: { a: lfs.add('first'), b: lfs.add('same') } }),
    });
    await sandbox.sync({ ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files: { a: lfs.add('second') } }) });
    const store = path.join(sandbox.repo, 'sync-agent-lfs');
    const sums = ['second', 'same'].map((content) => createHash('sha256').update(content).digest('hex'));
    await new LfsStore({ git: sandbox.git, http: localHttp(), path: store }).tidy(
      sums.map((sha256) => ({ sha256, blob: 'a'.repeat(40) })),
      (blobs) => sandbox.clone.pointers(blobs),
    );
    const entries = await readdir(path.join(store, 'lfs/objects'), { recursive: true, withFileTypes: true });
    const left = entries.flatMap((entry) => (entry.isFile() ? [entry.name] : []));
    assert.deepEqual(left.sort(), sums.sort());
  });

  test('stay stored while templates are rendered from them', async (t) => {
    const { server, lfs } = await startWorld(t);
    const repository = await createLfsRepository(server);
    const sandbox = await createSandbox(t);
    const commit = await repository.commit({ files: { 'config/a': lfs.add('{{ .GatewayName }}') } });
    const target = { repo: repository.url, commit, profile: mapped({ template: true }) };
    await sandbox.sync(target);
    const blob = await repository.git('rev-parse', `${commit}:config/a`);
    const sha256 = createHash('sha256').update('edge').digest('hex');
    const store = new LfsStore({
      git: sandbox.git,
      http: localHttp(),
      path: path.join(sandbox.repo, 'sync-agent-lfs'),
    });
    await store.tidy([{ blob, sha256 }], (blobs) => sandbox.clone.pointers(blobs));
    const downloads = lfs.requests.length;
    await writeFile(path.join(sandbox.data, 'config/a'), 'drifted');
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { 'config/a': 'edge' });
    assert.equal(lfs.requests.length, downloads);
  });

  test('can be templates, and can be patched', async (t) => {
    const { server, lfs } = await startWorld(t);
    const { url: repo, commit } = await createLfsRepository(server);
    const sandbox = await createSandbox(t);
    const profile = mapped({ template: true, patches: [{ file: 'a.json', set: { n: '2' } }] });
    const files = { 'config/a.json': lfs.add('{"name": "{{ .GatewayName }}", "n": 1}') };
    await sandbox.sync({ ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files }), profile });
    assert.deepEqual(await sandbox.files(), { 'config/a.json': '{"name": "edge", "n": 2}' });
  });

  test('need credentials, which are sent only to the origin of the repository', slow, async (t) => {
    const { server, lfs } = await startWorld(t, { tls: true, credentials: { password: 'lfs-secret' } });
    const { url: repo, commit } = await createLfsRepository(server);
    const tokenFile = path.join((await createSandbox(t)).directory, 'token');
    await writeFile(tokenFile, 'lfs-secret');
    const elsewhere = await startWorld(t, { tls: true });
    elsewhere.lfs.objects = lfs.objects;
    const other = `${elsewhere.server.url}/x.git/info/lfs`;
    const caFile = path.join(path.dirname(tokenFile), 'ca');
    const certificates = [server.caFile, elsewhere.server.caFile].map((file) => readFile(file ?? '', 'utf8'));
    await writeFile(caFile, (await Promise.all(certificates)).join('\n'));
    const config = `[lfs]\n\turl = ${other}\n[remote "origin"]\n\tlfsurl = ${other}\n`;
    const sandbox = await createSandbox(t, { files: { tokenFile, caFile } });
    const first = { a: lfs.add('first'), '.lfsconfig': config };
    await sandbox.sync({ ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files: first }) });
    assert.equal((await sandbox.files()).a, 'first');
    assert.equal(elsewhere.lfs.requests.length, 0);
    assert.ok(lfs.requests.every(({ headers }) => headers.authorization?.startsWith('Basic ')));
    lfs.downloadUrl = `${other}/objects`;
    await sandbox.sync({ ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files: { a: lfs.add('second') } }) });
    lfs.downloadUrl = `${server.url}/x.git/info/lfs/objects`;
    lfs.redirectUrl = `${other}/objects`;
    await sandbox.sync({ ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files: { a: lfs.add('third') } }) });
    assert.equal((await sandbox.files()).a, 'third');
    assert.equal(elsewhere.lfs.requests.length, 2);
    assert.ok(elsewhere.lfs.requests.every(({ headers }) => headers.authorization === undefined));
    const entries = await readdir(sandbox.repo, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((candidate) => candidate.isFile())) {
      const content = await readFile(path.join(entry.parentPath, entry.name), 'latin1');
      assert.ok(!content.includes('lfs-secret'), entry.name);
      assert.ok(!content.includes(Buffer.from('x-access-token:lfs-secret').toString('base64')), entry.name);
    }
    await writeFile(tokenFile, 'wrong');
    server.credentials = { password: 'other' };
    const last = await commit({ files: { a: lfs.add('fourth') } });
    await assert.rejects(sandbox.sync({ ...WITHOUT_ATTRIBUTES, repo, commit: last }), { code: 'git.authentication' });
  });

  test("aren't delivered if the server lacks or corrupts them", slow, async (t) => {
    const { server, lfs } = await startWorld(t);
    const { url: repo, commit } = await createLfsRepository(server);
    const sandbox = await createSandbox(t);
    const first = { a: lfs.add('content'), b: 'plain' };
    const oid = /sha256:(\w+)/.exec(first.a)?.[1] ?? '';
    lfs.objects.delete(oid);
    const target = { ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files: first }) };
    await assert.rejects(sandbox.sync(target), { name: 'TerminalError', code: 'lfs.objectNotFound' });
    lfs.objects.set(oid, Buffer.from('swapped'));
    await assert.rejects(sandbox.sync(target), { name: 'TransientError' });
    assert.deepEqual(await sandbox.files(), {});
    lfs.objects.set(oid, Buffer.from('content'));
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { a: 'content', b: 'plain' });
    const damaged = 'version https://git-lfs.github.com/spec/v1\noid sha256:../../x\nsize 9\n';
    const next = { ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files: { a: damaged } }) };
    await assert.rejects(sandbox.sync(next), { name: 'TerminalError', code: 'lfs.pointer' });
    assert.deepEqual(await sandbox.files(), { a: 'content', b: 'plain' });
  });

  test('are an error without side effects if the server has no Git LFS, even in a dry run', async (t) => {
    const { server, lfs } = await startWorld(t);
    server.lfs = undefined;
    const { url: repo, commit } = await createLfsRepository(server);
    const sandbox = await createSandbox(t);
    const target = {
      ...WITHOUT_ATTRIBUTES,
      repo,
      commit: await commit({ files: { a: '1', big: lfs.add('content') } }),
    };
    const refusal = { name: 'TerminalError', message: /stored in Git LFS, but the git server has no Git LFS/ };
    await assert.rejects(sandbox.sync({ ...target, profile: { dryRun: true } }), refusal);
    await assert.rejects(sandbox.sync(target), refusal);
    assert.deepEqual(await sandbox.files(), {});
  });

  test('are never fetched over http if the repository is on https', slow, async (t) => {
    const { server, lfs } = await startWorld(t, { tls: true });
    const plain = await startWorld(t);
    plain.lfs.objects = lfs.objects;
    const { url: repo, commit } = await createLfsRepository(server);
    const sandbox = await createSandbox(t, { files: { caFile: server.caFile } });
    const target = { ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files: { a: lfs.add('content') } }) };
    lfs.downloadUrl = `${plain.server.url}/x.git/info/lfs/objects`;
    await assert.rejects(sandbox.sync(target), { name: 'TerminalError', code: 'lfs.insecure' });
    lfs.downloadUrl = `${server.url}/x.git/info/lfs/objects`;
    lfs.redirectUrl = `${plain.server.url}/x.git/info/lfs/objects`;
    await assert.rejects(sandbox.sync(target), { name: 'TerminalError', code: 'lfs.insecure' });
    assert.deepEqual(plain.lfs.requests, []);
  });

  test("aren't fetched from denied addresses, whichever server refers to them", slow, async (t) => {
    const { server, lfs } = await startWorld(t);
    const denied = await startWorld(t, { address: '127.0.0.2' });
    denied.lfs.objects = lfs.objects;
    const { url: repo, commit } = await createLfsRepository(server);
    const sandbox = await createSandbox(t, { http: localHttp((address) => address === '127.0.0.2') });
    const target = { ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files: { a: lfs.add('content') } }) };
    const there = `${denied.server.url.replace('127.0.0.1', '127.0.0.2')}/x.git/info/lfs/objects`;
    lfs.downloadUrl = there;
    await assert.rejects(sandbox.sync(target), { name: 'TerminalError', code: 'git.deniedAddress' });
    lfs.downloadUrl = `${server.url}/x.git/info/lfs/objects`;
    lfs.redirectUrl = there;
    await assert.rejects(sandbox.sync(target), { name: 'TerminalError', code: 'git.deniedAddress' });
    assert.deepEqual(denied.lfs.requests, []);
    assert.deepEqual(await sandbox.files(), {});
  });

  test('are fetched from the next address if the first one is dead, as the commit is', async (t) => {
    const { server, lfs } = await startWorld(t);
    const { url, commit } = await createLfsRepository(server);
    const addresses = [REFUSING, '::1', '127.0.0.1'];
    const resolve = async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    const http = new GuardedHttp({ guard: new AddressGuard({ resolve }, () => false), environment: {} });
    t.after(() => http.close());
    const sandbox = await createSandbox(t, { http });
    const named = (text: string) => text.replace('127.0.0.1', 'git.test');
    lfs.downloadUrl = named(`${server.url}/x.git/info/lfs/objects`);
    await sandbox.sync({
      ...WITHOUT_ATTRIBUTES,
      repo: named(url),
      commit: await commit({ files: { a: lfs.add('content') } }),
    });
    assert.deepEqual(await sandbox.files(), { a: 'content' });
  });

  test('are fetched with the headers that the server names for that place only', async (t) => {
    const { server, lfs } = await startWorld(t);
    const store = await startWorld(t);
    const beyond = await startWorld(t);
    store.lfs.objects = lfs.objects;
    beyond.lfs.objects = lfs.objects;
    const { url: repo, commit } = await createLfsRepository(server);
    const sandbox = await createSandbox(t);
    lfs.downloadUrl = `${store.server.url}/x.git/info/lfs/objects`;
    lfs.downloadHeaders = { Authorization: 'signed', 'X-Part': '1', Host: 'inner', 'Bad Name': 'x', Line: 'a\r\nb: c' };
    store.lfs.redirectUrl = `${beyond.server.url}/x.git/info/lfs/objects`;
    await sandbox.sync({ ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files: { a: lfs.add('content') } }) });
    assert.equal((await sandbox.files()).a, 'content');
    const [asked] = store.lfs.requests;
    assert.equal(asked?.headers.authorization, 'signed');
    assert.equal(asked?.headers['x-part'], '1');
    assert.equal(asked?.headers.host, new URL(store.server.url).host);
    assert.equal(asked?.headers.line, undefined);
    const [elsewhere] = beyond.lfs.requests;
    assert.equal(elsewhere?.headers.authorization, undefined);
    assert.equal(elsewhere?.headers['x-part'], undefined);
  });

  test('stay stored when the clone is recreated', slow, async (t) => {
    const { server, lfs } = await startWorld(t);
    const { url: repo, commit } = await createLfsRepository(server);
    const sandbox = await createSandbox(t);
    const target = { ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files: { a: lfs.add('content') } }) };
    await sandbox.sync(target);
    const requests = lfs.requests.length;
    await sandbox.clone.repository.recreate(target.commit);
    await rm(path.join(sandbox.data, 'a'));
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { a: 'content' });
    assert.equal(lfs.requests.length, requests);
  });

  test('resume an interrupted download', slow, async (t) => {
    const { server, lfs } = await startWorld(t);
    const { url: repo, commit } = await createLfsRepository(server);
    const sandbox = await createSandbox(t);
    const content = randomBytes(1024 * 1024).toString('hex');
    const target = { ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files: { a: lfs.add(content) } }) };
    lfs.cutOffAt = 1_500_000;
    await assert.rejects(sandbox.sync(target), { name: 'TransientError', code: 'lfs.cutOff' });
    lfs.cutOffAt = undefined;
    await sandbox.restart();
    await sandbox.sync(target);
    assert.ok((await sandbox.files()).a === content, 'another content');
    const ranges = lfs.requests.flatMap(({ headers }) => headers.range ?? []);
    assert.equal(ranges.length, 1);
    assert.ok(Number(/^bytes=(\d+)-$/.exec(ranges[0] ?? '')?.[1]) > 0, `asked for ${ranges}`);
  });

  test('drop a partial download if another commit needs the space', slow, async (t) => {
    const { server, lfs } = await startWorld(t);
    const { url: repo, commit } = await createLfsRepository(server);
    const directory = await temporaryDirectory(t, 'full-');
    const git = new Git({ ...process.env, PATH: `${directory}:${process.env.PATH}` });
    const sandbox = await createSandbox(t, { git });
    const incomplete = path.join(sandbox.repo, 'sync-agent-lfs/lfs/incomplete');
    const first = await commit({ files: { a: lfs.add(randomBytes(1024 * 1024).toString('hex')) } });
    lfs.cutOffAt = 1_500_000;
    await assert.rejects(sandbox.sync({ ...WITHOUT_ATTRIBUTES, repo, commit: first }), { code: 'lfs.cutOff' });
    assert.equal((await readdir(incomplete)).length, 1);
    const room = path.join(sandbox.repo, 'tmp_room'); // the path that the agent's check for space writes to is a directory
    const script = `#!/bin/sh
PATH=\${PATH#*:}
rm -rf ${room}
case " $* " in *" fetch "*) [ -z "$(ls ${incomplete})" ] || { mkdir ${room}; echo "fatal: write error: No space left on device" >&2; exit 128; } ;; esac
exec git "$@"
`;
    await writeFile(path.join(directory, 'git'), script, { mode: 0o755 });
    const target = { ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files: { a: 'small' } }) };
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { a: 'small' });
  });

  test('drop a partial download when other objects are fetched', slow, async (t) => {
    const { server, lfs } = await startWorld(t);
    const { url: repo, commit } = await createLfsRepository(server);
    const sandbox = await createSandbox(t);
    const fail = async (content: string) => {
      lfs.cutOffAt = 1_500_000;
      await assert.rejects(
        sandbox.sync({ ...WITHOUT_ATTRIBUTES, repo, commit: await commit({ files: { a: lfs.add(content) } }) }),
        {
          code: 'lfs.cutOff',
        },
      );
      return await readdir(path.join(sandbox.repo, 'sync-agent-lfs/lfs/incomplete'));
    };
    const contents = [1, 2].map(() => randomBytes(1024 * 1024).toString('hex'));
    for (const content of contents) {
      assert.deepEqual(await fail(content), [createHash('sha256').update(content).digest('hex')]);
    }
  });

  test('are listed within the heap of a small container, as many as fit into it', slow, async () => {
    const script = `
      import { LfsStore } from ${importable('agent/lfs/lfs-store.ts')};
      const oid = (number) => String(number).padStart(64, '0');
      const pointers = Array.from({ length: 50_000 }, (_, number) => ({ oid: oid(number), size: 1 }));
      const store = new LfsStore({ path: '/a/folder/that/is/not/there' });
      console.log((await store.missing(pointers)).length);`;
    assert.equal(await runInSmallHeap(script), '50000');
  });

  test('are located over ssh if the repository is, and fetched with the headers from there', async (t) => {
    const { server, lfs } = await startWorld(t, { tls: true });
    const directory = await temporaryDirectory(t, 'ssh-');
    const content = lfs.add('content');
    const answer = { href: `${server.url}/x.git/info/lfs`, header: { Authorization: 'RemoteAuth token' } };
    await writeFile(path.join(directory, 'answer'), JSON.stringify(answer));
    const script = `#!/bin/sh\nprintf '%s\\n' "$@" >"${directory}/arguments"\ncat "${directory}/answer"\n`;
    await writeFile(path.join(directory, 'ssh'), script, { mode: 0o755 });
    const git = new Git({ PATH: `${directory}:${process.env.PATH}` });
    const store = new LfsStore({ git, http: localHttp(), path: path.join(directory, 'store') });
    const pointer = parseLfsPointer(Buffer.from(content));
    assert.ok(pointer);
    const access = { caFile: server.caFile, sshHost: { address: '192.0.2.1', port: 22, alias: 'git.test' } };
    await store.fetch([pointer], { repo: 'git@git.test:org/x.git', access, signal: undefined });
    assert.deepEqual(await store.missing([pointer]), []);
    const given = (await readFile(path.join(directory, 'arguments'), 'utf8')).trim().split('\n');
    assert.deepEqual(given.slice(-3), ['--', 'git@git.test', 'git-lfs-authenticate org/x.git download']);
    assert.ok(given.includes('HostName=192.0.2.1'));
    assert.ok(lfs.requests.every(({ headers }) => headers.authorization === 'RemoteAuth token'));
    await writeFile(path.join(directory, 'answer'), JSON.stringify({ href: 'http://192.0.2.1/x' }));
    const other = { ...pointer, oid: 'a'.repeat(64) };
    await assert.rejects(store.fetch([other], { repo: 'git@git.test:x', access, signal: undefined }), {
      code: 'lfs.insecure',
    });
  });
});
