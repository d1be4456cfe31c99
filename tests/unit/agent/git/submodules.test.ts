import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import type { TerminalError } from '../../../../shared/errors.ts';
import { AddressGuard } from '../../../../shared/io/address-guard.ts';
import { GuardedHttp } from '../../../../shared/io/http/guarded-http.ts';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { accessTo, gitSandbox } from '../support/git-sandbox.ts';
import { createSandbox, mapped } from '../support/sandbox.ts';
import { rawCommits } from './support/write-object.ts';

const gitmodules = (modules: Record<string, string>) =>
  Object.entries(modules)
    .map(([at, url]) => `[submodule "${at} (name)"]\n\tpath = ${at}\n\turl = ${url}\n\tupdate = rebase\n`)
    .join('');

suite('submodules', () => {
  test('are fetched, even nested ones, from relative URLs with the credentials of their server', slow, async (t) => {
    const server = await gitServerFor(t, { tls: true, credentials: { password: 'secret' } });
    const [root, lib, deep] = await Promise.all(['org/root', 'org/lib', 'deep'].map(server.createRepository));
    assert.ok(root && lib && deep);
    const inner = await deep.commit({ files: { d: 'deep', 'e/f': 'deeper' } });
    const linked = {
      '.gitmodules': gitmodules({ 'x/deep': '../../deep.git' }),
      'x/deep': { submodule: inner },
      l: '1',
    };
    const first = await lib.commit({ files: linked });
    const sandbox = await createSandbox(t, { files: await accessTo(t, server) });
    const files = { '.gitmodules': gitmodules({ 'libs/lib': '../lib.git' }), 'libs/lib': { submodule: first }, a: 'a' };
    const target = { repo: root.url, submodules: true };
    await sandbox.sync({ ...target, commit: await root.commit({ files }), profile: mapped('libs') });
    assert.deepEqual(await sandbox.files(), {
      'libs/lib/.gitmodules': linked['.gitmodules'],
      'libs/lib/l': '1',
      'libs/lib/x/deep/d': 'deep',
      'libs/lib/x/deep/e/f': 'deeper',
    });
    // A later commit of the branch does not count, the one that is named does.
    const second = await lib.commit({ files: { l: '2', 'x/deep': null } });
    await lib.commit({ files: { l: '3' } });
    const commit = await root.commit({ files: { 'libs/lib': { submodule: second } } });
    await sandbox.sync({ ...target, commit, profile: mapped('libs/lib/l') });
    assert.deepEqual(await sandbox.files(), { 'libs/lib/l': '2' });
    const requests = server.requests.length;
    assert.deepEqual((await sandbox.sync({ ...target, commit, profile: mapped('libs/lib/l') })).plan.changes, []);
    await sandbox.restart();
    await sandbox.sync({ ...target, commit, profile: mapped('libs/lib/l') });
    assert.equal(server.requests.length, requests);
    const back = await root.commit({ files: { 'libs/lib': { submodule: first } } });
    await sandbox.sync({ ...target, commit: back, profile: mapped('libs/lib/x') });
    assert.deepEqual(await sandbox.files(), { 'libs/lib/x/deep/d': 'deep', 'libs/lib/x/deep/e/f': 'deeper' });
  });

  test(
    "that the server doesn't show are reported with a remedy for them, and not for the repository",
    slow,
    async (t) => {
      const server = await gitServerFor(t, { tls: true, credentials: { password: 'secret' } });
      // It would accept the credentials, and only the CAs of the installation include its own.
      const other = await gitServerFor(t, { tls: true, credentials: { password: 'secret' } });
      const root = await server.createRepository('org/root');
      const foreign = await other.createRepository('org/lib');
      const extraCaFile = path.join(await temporaryDirectory(t, 'cas-'), 'ca.crt');
      const certificates = [server, other].map(({ caFile = '' }) => readFile(caFile, 'utf8'));
      await writeFile(extraCaFile, (await Promise.all(certificates)).join('\n'));
      const { tokenFile } = await accessTo(t, server);
      const sandbox = await createSandbox(t, { files: { tokenFile, extraCaFile } });
      for (const [url, reason, words] of [
        ['../missing.git', 'RepositoryNotFound', /\.gitmodules.*githubApp\.repositories/],
        [foreign.url, 'AuthenticationFailed', /\.gitmodules.*no credentials/],
      ] as const) {
        const files = { '.gitmodules': gitmodules({ lib: url }), lib: { submodule: 'a'.repeat(40) } };
        const target = {
          repo: root.url,
          submodules: true,
          commit: await root.commit({ files }),
          profile: mapped('lib'),
        };
        await assert.rejects(sandbox.sync(target), (error: TerminalError) => {
          assert.match(error.message, words);
          assert.doesNotMatch(error.message, /spec\.git\.repo/);
          return error.reason === reason;
        });
      }
      other.credentials = undefined;
      const lib = { submodule: await foreign.commit({ files: { l: '1' } }) };
      const commit = await root.commit({ files: { '.gitmodules': gitmodules({ lib: foreign.url }), lib } });
      await sandbox.sync({ repo: root.url, submodules: true, commit, profile: mapped('lib') });
      assert.deepEqual(await sandbox.files(), { 'lib/l': '1' });
    },
  );

  test('are abandoned after spec.git.timeout, as the repository itself is', slow, async (t) => {
    const server = await gitServerFor(t);
    const [root, lib] = await Promise.all(['org/late', 'org/silent'].map(server.createRepository));
    assert.ok(root && lib);
    const files = {
      '.gitmodules': gitmodules({ lib: '../silent.git' }),
      lib: { submodule: await lib.commit({ files: { a: '1' } }) },
    };
    const target = { repo: root.url, commit: await root.commit({ files }), submodules: true, profile: mapped('lib') };
    server.redirect = ({ url }, response) =>
      url?.startsWith('/org/silent.git') && response.writeHead(200).flushHeaders();
    const sandbox = await createSandbox(t);
    await assert.rejects(sandbox.sync({ ...target, fetchTimeoutMs: 1_000 }), { code: 'git.timeout' });
    assert.deepEqual(await sandbox.files(), {});
  });

  test('are an error only if they are mapped but not enabled', async (t) => {
    const server = await gitServerFor(t);
    const { repo, commit, sandbox } = await gitSandbox(t, 'root', { server });
    const target = { repo, commit: await commit({ files: { 'lib/x': { submodule: 'a'.repeat(40) }, 'b/c': '1' } }) };
    for (const profile of [mapped('.'), mapped('lib/x'), mapped('lib/x/y')]) {
      await assert.rejects(sandbox.sync({ ...target, profile }), /\blib\/x .* spec\.git\.submodules/);
    }
    await sandbox.sync({ ...target, profile: mapped('b') });
    await sandbox.sync({ ...target, profile: { ...mapped('.'), excludePatterns: ['lib/'] } });
    await sandbox.sync({ ...target, profile: { ...mapped('.'), excludePatterns: ['lib/'] }, submodules: true });
    assert.deepEqual(await sandbox.files(), { 'b/c': '1' });
  });

  test('are rejected with a message if their paths or URLs lead astray', slow, async (t) => {
    const server = await gitServerFor(t);
    const { repo, commit, sandbox } = await gitSandbox(t, 'root', { server });
    const local = server.url.replace('127.0.0.1', 'localhost');
    const lib = { submodule: 'a'.repeat(40) };
    const cases: [modules: object, expected: object][] = [
      [{ '.gitmodules': gitmodules({ lib: `${local}/lib.git` }) }, { code: 'submodule.refused' }],
      [{ '.gitmodules': gitmodules({ lib: 'http://169.254.169.254/x' }) }, { code: 'submodule.refused' }],
      [
        { '.gitmodules': gitmodules({ lib: `ext::touch ${sandbox.directory}/mark` }) },
        { code: 'submodule.refused', message: /submodule lib\b/ },
      ],
      [
        { '.gitmodules': gitmodules({ other: '../lib.git' }) },
        { code: 'submodule.refused', message: /submodule lib\b.*URL/ },
      ],
      [{ '.gitmodules': null }, { code: 'sync.SubmoduleInvalid', message: /\.gitmodules/ }],
      [
        { '.gitmodules': gitmodules({ lib: '../none.git' }) },
        { reason: 'RepositoryNotFound', message: /submodule lib: / },
      ],
      [{ '.gitmodules': gitmodules({ lib: repo }) }, { reason: 'RefNotFound', message: /submodule lib: / }],
    ];
    for (const [modules, expected] of cases) {
      const target = { repo, commit: await commit({ files: { ...modules, lib, a: '1' } }), submodules: true };
      const synced = sandbox.sync({ ...target, profile: mapped('a', 'lib') });
      await assert.rejects(synced, { name: 'TerminalError', ...expected });
      assert.deepEqual(await sandbox.files(), {});
    }
  });

  test(
    'never come from a local address of another host, even if its name changes between two lookups',
    slow,
    async (t) => {
      const server = await gitServerFor(t);
      const lib = await server.createRepository('lib');
      const files = { x: { submodule: await lib.commit({ files: { a: '1' } }) } };
      // Local addresses are allowed, and another resolver than the guard's doesn't know these names.
      const addresses = new Map([
        ['127.0.0.1', ['127.0.0.1']],
        ['rebound.test', ['127.0.0.1']],
        ['mixed.test', ['192.0.2.1', '::1']],
      ]);
      const resolve = async (name: string) =>
        (addresses.get(name) ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
      const http = new GuardedHttp({ guard: new AddressGuard({ resolve }, () => false), environment: {} });
      const { repo, commit, sandbox } = await gitSandbox(t, 'root', { server, http });
      for (const name of ['rebound.test', 'mixed.test', '[::1]', '127.0.0.2']) {
        const url = `${server.url.replace('127.0.0.1', name)}/lib.git`;
        const target = { repo, commit: await commit({ files: { ...files, '.gitmodules': gitmodules({ x: url }) } }) };
        await assert.rejects(sandbox.sync({ ...target, submodules: true }), { code: 'submodule.refused' }, name);
      }
      const unknown = await commit({ files: { '.gitmodules': gitmodules({ x: 'http://unknown.test/lib.git' }) } });
      await assert.rejects(sandbox.sync({ repo, commit: unknown, submodules: true }), { name: 'TransientError' });
      // The host of the repository itself is allowed.
      const own = await commit({ files: { '.gitmodules': gitmodules({ x: `${server.url}/lib.git` }) } });
      await sandbox.sync({ repo, commit: own, submodules: true, profile: mapped('x') });
      assert.deepEqual(await sandbox.files(), { 'x/a': '1' });
    },
  );

  test('are rejected with a message if .gitmodules is a symbolic link', async (t) => {
    const server = await gitServerFor(t);
    const repository = await server.createRepository('root');
    // Newer versions of git do not make such a commit by themselves.
    const { blobOf, treeOf, commitTree } = rawCommits(repository);
    const commit = await commitTree(await treeOf(['120000', '.gitmodules', await blobOf('x')]));
    const sandbox = await createSandbox(t);
    const target = { repo: repository.url, commit, submodules: true };
    await assert.rejects(sandbox.sync(target), { code: 'git.unsafeObject', message: /\(gitmodulesSymlink\)/ });
    assert.deepEqual(await sandbox.files(), {});
  });

  test("are rejected with a message if .gitmodules isn't a readable file", slow, async (t) => {
    const server = await gitServerFor(t);
    const [root, leaf] = await Promise.all(['root', 'leaf'].map(server.createRepository));
    assert.ok(root && leaf);
    const link = { submodule: await leaf.commit({ files: { l: '1' } }) };
    const good = gitmodules({ lib: '../leaf.git' });
    const cases: [modules: string, message: RegExp][] = [
      // Git says the name again with each setting: 34 KB become 66 MB.
      [`${good}[submodule "${'n'.repeat(30_000)}"]\n${'a\n'.repeat(2_200)}`, /^\.gitmodules .*large/],
      [`${good}${'# a comment\n'.repeat(100_000)}`, /^\.gitmodules .*large/],
      [`${good}[submodule`, /^\.gitmodules .*read/],
    ];
    const sandbox = await createSandbox(t);
    for (const [modules, message] of cases) {
      const commit = await root.commit({ files: { '.gitmodules': modules, lib: link } });
      const refusal = { name: 'TerminalError', code: 'submodule.refused', message };
      await assert.rejects(sandbox.sync({ repo: root.url, commit, submodules: true, profile: mapped('lib') }), refusal);
    }
    const many = gitmodules(Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`libs/${n}`, '../x.git'])));
    const commit = await root.commit({ files: { '.gitmodules': `${good}${many}` } });
    await sandbox.sync({ repo: root.url, commit, submodules: true, profile: mapped('lib') });
    assert.deepEqual(await sandbox.files(), { 'lib/l': '1' });
  });

  test('are limited in depth and number', slow, async (t) => {
    const server = await gitServerFor(t);
    const sandbox = await createSandbox(t);
    let inner = { url: '', commit: '' };
    for (let depth = 0; depth < 6; depth += 1) {
      const { url, commit } = await server.createRepository(`deep-${depth}`);
      const link = { '.gitmodules': gitmodules({ m: inner.url }), m: { submodule: inner.commit } };
      inner = { url, commit: await commit({ files: { a: `${depth}`, ...(depth > 0 && link) } }) };
    }
    const target = { repo: inner.url, commit: inner.commit, submodules: true };
    await assert.rejects(sandbox.sync(target), { code: 'submodule.refused', message: / m\/m\/m\/m\/m: .*\b4\b/ });
    const { url: repo, commit } = await server.createRepository('many');
    const paths = Array.from({ length: 33 }, (_, n) => `m${n}`);
    const links = Object.fromEntries(paths.map((at) => [at, { submodule: 'a'.repeat(40) }]));
    const modules = gitmodules(Object.fromEntries(paths.map((at) => [at, '../leaf.git'])));
    const many = { repo, commit: await commit({ files: { '.gitmodules': modules, ...links } }), submodules: true };
    await assert.rejects(sandbox.sync(many), { code: 'submodule.refused', message: /\b32\b/ });
    assert.deepEqual(await sandbox.files(), {});
  });

  test('count once per link, and have to fit into memory before they are listed', slow, async (t) => {
    const server = await gitServerFor(t);
    const [leaf, root] = await Promise.all(['leaf', 'root'].map(server.createRepository));
    assert.ok(leaf && root);
    const files = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`d/${n}`, '']));
    const link = { submodule: await leaf.commit({ files }) };
    const linked = async (links: number) => {
      const paths = Array.from({ length: links }, (_, n) => `m${n}`);
      const modules = gitmodules(Object.fromEntries(paths.map((at) => [at, '../leaf.git'])));
      const entries = Object.fromEntries(paths.map((at) => [at, link]));
      return await root.commit({ files: { '.gitmodules': modules, ...entries } });
    };
    const target = { repo: root.url, submodules: true };
    const sandbox = await createSandbox(t, { heapBytes: 19 * 1024 ** 2 });
    await sandbox.sync({ ...target, commit: await linked(2) });
    assert.equal(Object.keys(await sandbox.files()).length, 1_001);
    const commit = await linked(20);
    await assert.rejects(sandbox.sync({ ...target, commit }), {
      code: 'sync.TooManyFiles',
      // It is noticed at the first link that is too many.
      message: /\b2\d{3}\b/,
    });
  });
});
