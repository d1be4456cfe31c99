import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { LfsStore } from '../../../../agent/lfs/lfs-store.ts';
import { parseLfsPointer } from '../../../../agent/plan/lfs-pointer.ts';
import type { FileChange } from '../../../../scripts/testbed/fast-import.ts';
import type { GitServerOptions } from '../../../../scripts/testbed/git-server.ts';
import type { ResolvedProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { AddressGuard } from '../../../../shared/io/address-guard.ts';
import { Git } from '../../../../shared/io/git/git.ts';
import { GuardedHttp } from '../../../../shared/io/http/guarded-http.ts';
import { REFUSING } from '../../../support/dead-address.ts';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { createLfsHost, createLfsRepository, WITHOUT_ATTRIBUTES } from '../../../support/lfs-host.ts';
import { localHttp } from '../../../support/local-http.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { serveLocally } from '../support/local-clone.ts';
import { createSandbox, type SandboxOptions } from '../support/sandbox.ts';
import { importable, runInSmallHeap } from '../support/small-heap.ts';

/** A Git LFS server for the repository `x`. */
async function startHost(t: TestContext, options: GitServerOptions = {}) {
  const server = await gitServerFor(t, options);
  const objectsUrl = `${server.url}/x.git/info/lfs/objects`;
  const lfs = createLfsHost(objectsUrl);
  server.lfs = lfs.listener;
  return { server, lfs, objectsUrl };
}

type Host = Awaited<ReturnType<typeof startHost>>;

/** An agent that gets commits without a server, and their files from one. */
async function startWorld(t: TestContext, options: SandboxOptions & { host?: Host } = {}) {
  const { host = await startHost(t), ...own } = options;
  const repository = serveLocally(await createLfsRepository(host.server));
  const sandbox = await createSandbox(t, own);
  const targetOf = async (files: Record<string, FileChange>, profile: Partial<ResolvedProfile> = {}) => {
    const commit = await repository.commit({ files });
    return { repo: repository.url, commit, profile: { ...WITHOUT_ATTRIBUTES.profile, ...profile } };
  };
  const deliver = async (...given: Parameters<typeof targetOf>) => {
    const target = await targetOf(...given);
    await sandbox.sync(target);
    return target;
  };
  const downloads = () => host.lfs.requests.filter(({ path: file }) => !file.endsWith('/batch'));
  return { ...host, repository, sandbox, targetOf, deliver, downloads };
}

/** A store of a clone, to remove what isn't needed. */
const storeAt = (directory: string, git = new Git(process.env)) =>
  new LfsStore({ git, http: localHttp(), path: directory });

const mapped = (more: object = {}) => ({
  mappings: [{ source: 'config', destination: 'config', required: true, template: false, ...more }],
});

const sha256Of = (text: string) => createHash('sha256').update(text).digest('hex');

suite('files in Git LFS', () => {
  test('are delivered, fetched at once, and repaired without a request to the server', slow, async (t) => {
    const { server, lfs, sandbox, deliver } = await startWorld(t);
    const large = randomBytes(3 * 1024 * 1024).toString('base64');
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`config/${n}`, lfs.add(`content ${n}`)]));
    const files = { 'config/large': lfs.add(large), 'config/plain': 'plain', ...many, 'media/film': lfs.add('film') };
    const target = await deliver(files, mapped());
    const delivered = await sandbox.files();
    assert.equal(Object.keys(delivered).length, 22);
    assert.ok(delivered['config/large'] === large, 'another content');
    assert.deepEqual([delivered['config/plain'], delivered['config/7']], ['plain', 'content 7']);
    assert.equal(lfs.requests.filter(({ path: file }) => file.endsWith('/batch')).length, 1);
    const unmapped = sha256Of('film');
    assert.ok(!lfs.requests.some(({ path: file }) => file.includes(unmapped)), 'what is not mapped is left there');
    const requests = server.requests.length;
    assert.deepEqual((await sandbox.sync(target)).plan.changes, []);
    await writeFile(path.join(sandbox.data, 'config/7'), 'x');
    await sandbox.sync(target);
    assert.equal((await sandbox.files())['config/7'], 'content 7');
    assert.equal(server.requests.length, requests);
  });

  test('are fetched once if several pointers name them, and replace a pointer in their place', async (t) => {
    const { lfs, sandbox, deliver, downloads } = await startWorld(t);
    const pointer = lfs.add('content');
    await writeFile(path.join(sandbox.data, 'a'), pointer);
    await deliver({ a: pointer, b: `${pointer}\n`, c: `${pointer}\n\n` });
    assert.deepEqual(await sandbox.files(), { a: 'content', b: 'content', c: 'content' });
    assert.equal(downloads().length, 1);
  });

  test('take no space once they are no longer needed', slow, async (t) => {
    const { lfs, sandbox, deliver } = await startWorld(t);
    await deliver({ a: lfs.add('first'), b: lfs.add('same') });
    await deliver({ a: lfs.add('second') });
    const store = path.join(sandbox.repo, 'sync-agent-lfs');
    const sums = ['second', 'same'].map(sha256Of);
    await storeAt(store).tidy(
      sums.map((sha256) => ({ sha256, blob: 'a'.repeat(40) })),
      (blobs) => sandbox.clone.pointers(blobs),
    );
    const entries = await readdir(path.join(store, 'lfs/objects'), { recursive: true, withFileTypes: true });
    const left = entries.flatMap((entry) => (entry.isFile() ? [entry.name] : []));
    assert.deepEqual(left.sort(), sums.sort());
  });

  test('stay stored while templates are rendered from them, and when the clone is recreated', async (t) => {
    const { lfs, repository, sandbox, deliver } = await startWorld(t);
    const target = await deliver({ 'config/a': lfs.add('{{ .GatewayName }}') }, mapped({ template: true }));
    const blob = await repository.git('rev-parse', `${target.commit}:config/a`);
    const store = storeAt(path.join(sandbox.repo, 'sync-agent-lfs'));
    await store.tidy([{ blob, sha256: sha256Of('edge') }], (blobs) => sandbox.clone.pointers(blobs));
    const requests = lfs.requests.length;
    await writeFile(path.join(sandbox.data, 'config/a'), 'drifted');
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { 'config/a': 'edge' });
    await sandbox.clone.repository.recreate(target.commit);
    await rm(path.join(sandbox.data, 'config/a'));
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { 'config/a': 'edge' });
    assert.equal(lfs.requests.length, requests);
  });

  test('can be templates, and can be patched', async (t) => {
    const { lfs, sandbox, deliver } = await startWorld(t);
    const profile = mapped({ template: true, patches: [{ file: 'a.json', set: { n: '2' } }] });
    await deliver({ 'config/a.json': lfs.add('{"name": "{{ .GatewayName }}", "n": 1}') }, profile);
    assert.deepEqual(await sandbox.files(), { 'config/a.json': '{"name": "edge", "n": 2}' });
  });

  test('need credentials, which are sent only to the origin of the repository', slow, async (t) => {
    const host = await startHost(t, { tls: true, credentials: { password: 'lfs-secret' } });
    const elsewhere = await startHost(t, { tls: true });
    elsewhere.lfs.objects = host.lfs.objects;
    const directory = await temporaryDirectory(t, 'lfs-access-');
    const tokenFile = path.join(directory, 'token');
    const caFile = path.join(directory, 'ca');
    await writeFile(tokenFile, 'lfs-secret');
    const certificates = [host, elsewhere].map(({ server }) => readFile(server.caFile ?? '', 'utf8'));
    await writeFile(caFile, (await Promise.all(certificates)).join('\n'));
    const { server, lfs, objectsUrl, sandbox, targetOf, deliver } = await startWorld(t, {
      host,
      files: { tokenFile, caFile },
    });
    const other = `${elsewhere.server.url}/x.git/info/lfs`;
    const config = `[lfs]\n\turl = ${other}\n[remote "origin"]\n\tlfsurl = ${other}\n`;
    await deliver({ a: lfs.add('first'), '.lfsconfig': config });
    assert.equal((await sandbox.files()).a, 'first');
    assert.equal(elsewhere.lfs.requests.length, 0);
    assert.ok(lfs.requests.every(({ headers }) => headers.authorization?.startsWith('Basic ')));
    lfs.downloadUrl = elsewhere.objectsUrl;
    await deliver({ a: lfs.add('second') });
    lfs.downloadUrl = objectsUrl;
    lfs.redirectUrl = elsewhere.objectsUrl;
    await deliver({ a: lfs.add('third') });
    assert.equal((await sandbox.files()).a, 'third');
    const sent = elsewhere.lfs.requests.map(({ headers }) => headers.authorization);
    assert.deepEqual(sent, [undefined, undefined]);
    const entries = await readdir(sandbox.repo, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((candidate) => candidate.isFile())) {
      const content = await readFile(path.join(entry.parentPath, entry.name), 'latin1');
      assert.ok(!content.includes('lfs-secret'), entry.name);
      assert.ok(!content.includes(Buffer.from('x-access-token:lfs-secret').toString('base64')), entry.name);
    }
    server.credentials = { password: 'other' };
    await assert.rejects(sandbox.sync(await targetOf({ a: lfs.add('fourth') })), { code: 'lfs.authentication' });
  });

  test("aren't delivered if the server lacks or corrupts them", slow, async (t) => {
    const { lfs, sandbox, targetOf } = await startWorld(t);
    const pointer = lfs.add('content');
    const oid = sha256Of('content');
    lfs.objects.delete(oid);
    const target = await targetOf({ a: pointer, b: 'plain' });
    await assert.rejects(sandbox.sync(target), { name: 'TerminalError', code: 'lfs.objectNotFound' });
    lfs.objects.set(oid, Buffer.from('swapped'));
    await assert.rejects(sandbox.sync(target), { name: 'TransientError' });
    assert.deepEqual(await sandbox.files(), {});
    lfs.objects.set(oid, Buffer.from('content'));
    await sandbox.sync(target);
    const damaged = await targetOf({ a: 'version https://git-lfs.github.com/spec/v1\noid sha256:../../x\nsize 9\n' });
    await assert.rejects(sandbox.sync(damaged), { name: 'TerminalError', code: 'lfs.pointer' });
    assert.deepEqual(await sandbox.files(), { a: 'content', b: 'plain' });
  });

  test('are an error without side effects if the server has no Git LFS, even in a dry run', async (t) => {
    const { server, lfs, sandbox, targetOf } = await startWorld(t);
    server.lfs = undefined;
    const target = await targetOf({ a: '1', big: lfs.add('content') });
    const refusal = { name: 'TerminalError', code: 'lfs.noServer' };
    await assert.rejects(sandbox.sync({ ...target, profile: { dryRun: true } }), refusal);
    await assert.rejects(sandbox.sync(target), refusal);
    assert.deepEqual(await sandbox.files(), {});
  });

  for (const [what, tls, other, code] of [
    ['over http if the repository is on https', true, {}, 'lfs.insecure'],
    ['from denied addresses', false, { address: '127.0.0.2' }, 'git.deniedAddress'],
  ] as const) {
    test(`are never fetched ${what}, whichever server refers to them`, slow, async (t) => {
      const host = await startHost(t, { tls });
      const denied = await startHost(t, other);
      denied.lfs.objects = host.lfs.objects;
      const http = localHttp((address) => address === '127.0.0.2');
      const files = { caFile: host.server.caFile };
      const { lfs, objectsUrl, sandbox, targetOf } = await startWorld(t, { host, http, files });
      const there = 'address' in other ? denied.objectsUrl.replace('127.0.0.1', other.address) : denied.objectsUrl;
      const target = await targetOf({ a: lfs.add('content') });
      lfs.downloadUrl = there;
      await assert.rejects(sandbox.sync(target), { name: 'TerminalError', code });
      lfs.downloadUrl = objectsUrl;
      lfs.redirectUrl = there;
      await assert.rejects(sandbox.sync(target), { name: 'TerminalError', code });
      assert.deepEqual([denied.lfs.requests, await sandbox.files()], [[], {}]);
    });
  }

  test('are fetched from the next address if the first one is dead, as the commit is', async (t) => {
    const { server, lfs, objectsUrl } = await startHost(t);
    const { url, commit } = await createLfsRepository(server);
    const addresses = [REFUSING, '::1', '127.0.0.1'];
    const resolve = async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    const http = new GuardedHttp({ guard: new AddressGuard({ resolve }, () => false), environment: {} });
    const sandbox = await createSandbox(t, { http });
    const named = (text: string) => text.replace('127.0.0.1', 'git.test');
    lfs.downloadUrl = named(objectsUrl);
    const id = await commit({ files: { a: lfs.add('content') } });
    await sandbox.sync({ ...WITHOUT_ATTRIBUTES, repo: named(url), commit: id });
    assert.deepEqual(await sandbox.files(), { a: 'content' });
  });

  test('are fetched with the headers that the server names for that place only', async (t) => {
    const { lfs, deliver } = await startWorld(t);
    const store = await startHost(t);
    const beyond = await startHost(t);
    store.lfs.objects = lfs.objects;
    beyond.lfs.objects = lfs.objects;
    lfs.downloadUrl = store.objectsUrl;
    lfs.downloadHeaders = { Authorization: 'signed', 'X-Part': '1', Host: 'inner', 'Bad Name': 'x', Line: 'a\r\nb: c' };
    store.lfs.redirectUrl = beyond.objectsUrl;
    await deliver({ a: lfs.add('content') });
    const headersOf = ({ lfs: { requests } }: Host) => {
      const { authorization, 'x-part': part, host, line } = requests[0]?.headers ?? {};
      return { authorization, part, host, line };
    };
    const host = new URL(store.server.url).host;
    assert.deepEqual(headersOf(store), { authorization: 'signed', part: '1', host, line: undefined });
    const { authorization, part } = headersOf(beyond);
    assert.deepEqual([beyond.lfs.requests.length, authorization, part], [1, undefined, undefined]);
  });

  test('resume an interrupted download, or drop it when other objects are fetched', slow, async (t) => {
    const { lfs, sandbox, targetOf, downloads } = await startWorld(t);
    const contents = [1, 2].map(() => randomBytes(1024 * 1024).toString('hex'));
    const targets = [];
    for (const content of contents) targets.push(await targetOf({ a: lfs.add(content) }));
    const [first, second] = targets as [(typeof targets)[0], (typeof targets)[0]];
    lfs.cutOffAt = 1_500_000;
    for (const target of [first, second])
      await assert.rejects(sandbox.sync(target), { name: 'TransientError', code: 'lfs.cutOff' });
    const incomplete = path.join(sandbox.repo, 'sync-agent-lfs/lfs/incomplete');
    assert.deepEqual(await readdir(incomplete), [sha256Of(contents[1] ?? '')]);
    lfs.cutOffAt = undefined;
    await sandbox.restart();
    await sandbox.sync(second);
    assert.ok((await sandbox.files()).a === contents[1], 'another content');
    assert.match(downloads().at(-1)?.headers.range ?? '', /^bytes=[1-9]\d*-$/);
  });

  test('drop a partial download if another commit needs the space', slow, async (t) => {
    const host = await startHost(t);
    const { lfs } = host;
    const { url: repo, commit } = await createLfsRepository(host.server);
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
    const { server, lfs } = await startHost(t, { tls: true });
    const directory = await temporaryDirectory(t, 'ssh-');
    const answer = { href: `${server.url}/x.git/info/lfs`, header: { Authorization: 'RemoteAuth token' } };
    await writeFile(path.join(directory, 'answer'), JSON.stringify(answer));
    const script = `#!/bin/sh\nprintf '%s\\n' "$@" >"${directory}/arguments"\ncat "${directory}/answer"\n`;
    await writeFile(path.join(directory, 'ssh'), script, { mode: 0o755 });
    const store = storeAt(path.join(directory, 'store'), new Git({ PATH: `${directory}:${process.env.PATH}` }));
    const pointer = parseLfsPointer(Buffer.from(lfs.add('content')));
    assert.ok(pointer);
    const access = { caFile: server.caFile, sshHost: { address: '192.0.2.1', port: 22, alias: 'git.test' } };
    await store.fetch([pointer], { repo: 'git@git.test:org/x.git', access, signal: undefined });
    assert.deepEqual(await store.missing([pointer]), []);
    const given = (await readFile(path.join(directory, 'arguments'), 'utf8')).trim().split('\n');
    assert.deepEqual(given.slice(-3), ['--', 'git@git.test', 'git-lfs-authenticate org/x.git download']);
    assert.ok(given.includes('HostName=192.0.2.1'));
    assert.ok(lfs.requests.every(({ headers }) => headers.authorization === 'RemoteAuth token'));
  });
});
