import assert from 'node:assert/strict';
import { rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { byDepth, slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { createLfsHost } from '../../../support/lfs-host.ts';
import { fc, runs } from '../../../support/property.ts';
import { followLinksIn, type Tree } from '../support/follow-links-in.ts';
import { gitSandbox } from '../support/git-sandbox.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { createSandbox } from '../support/sandbox.ts';

const link = (symlink: string) => ({ symlink });
const mapped = (...sources: string[]) => ({
  mappings: sources.map((source) => ({ source, destination: source, required: true, template: false })),
});

suite('symbolic links in the repository', () => {
  test('are delivered as the files and directories that they lead to', async (t) => {
    const { sandbox, sync, deliver } = await localSandbox(t);
    const files = {
      'sites-available/shop/nginx.conf': 'shop',
      'sites-available/blog.conf': 'blog',
      'sites-available/off.conf': 'off',
      'sites-enabled/blog.conf': link('../sites-available/blog.conf'),
      'sites-enabled/shop': link('../current/shop'),
      'sites-enabled/chain': link('shop/nginx.conf'),
      'sites-enabled/plain': 'plain',
      current: link('./sites-available/../sites-available/'),
    };
    await deliver(files, mapped('sites-enabled'));
    assert.deepEqual(await sandbox.files(), {
      'sites-enabled/blog.conf': 'blog',
      'sites-enabled/chain': 'shop',
      'sites-enabled/plain': 'plain',
      'sites-enabled/shop/nginx.conf': 'shop',
    });
    assert.deepEqual((await sync(mapped('sites-enabled'))).plan.changes, []);
  });

  test('are sources as well, and on the way to a source', async (t) => {
    const { repo, commit, sandbox, at } = await localSandbox(t);
    const files = {
      'releases/2/conf/a': 'a2',
      'releases/2/run': { content: 'run', executable: true },
      current: link('releases/2'),
      run: link('current/run'),
    };
    const target = { repo, commit: await commit({ files }), profile: mapped('current/conf', 'run') };
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { 'current/conf/a': 'a2', run: 'run' });
    assert.equal((await stat(at('run'))).mode & 0o777, 0o755);
    const next = await commit({
      files: { 'releases/3/conf/b': 'b3', 'releases/3/run': '3', current: link('releases/3') },
    });
    await sandbox.sync({ ...target, commit: next });
    assert.deepEqual(await sandbox.files(), { 'current/conf/b': 'b3', run: '3' });
  });

  test('appear above a source, or vanish, soon after a check', async (t) => {
    const { sandbox, deliver } = await localSandbox(t);
    const optional = { source: 'now/conf', destination: 'conf', required: false, template: false };
    const profile = { mappings: [optional, ...mapped('b').mappings], syncPeriod: 3600 };
    await deliver({ b: '1', 'v/1/conf/a': 'a1' }, profile);
    await deliver({ now: link('v/1') }, profile);
    assert.deepEqual(await sandbox.files(), { b: '1', 'conf/a': 'a1' });
    await deliver({ now: null, 'v/1/conf/a': 'other' }, profile);
    assert.deepEqual(await sandbox.files(), { b: '1', 'conf/a': 'a1' }, 'an optional source that is missing');
    await deliver({ 'now/conf/c': 'c' }, profile);
    assert.deepEqual(await sandbox.files(), { b: '1', 'conf/c': 'c' });
  });

  test(
    'keep the path of the mapping for patches and excludes, and that of the target as the source',
    slow,
    async (t) => {
      const { repo, commit, sandbox } = await gitSandbox(t, 'links');
      const files = {
        'on/a.json': link('../off/x.json'),
        'on/d': link('../off'),
        'off/x.json': '{"k":1}',
        'off/y': '{{',
      };
      const patch = { file: 'a.json', set: { k: '2' } };
      const mapping = { source: 'on', destination: 'conf', required: true, template: false, patches: [patch] };
      const profile = { mappings: [mapping], excludePatterns: ['/on/d/y', 'off/'] };
      const target = { repo, commit: await commit({ files }), profile };
      await sandbox.sync(target);
      assert.deepEqual(await sandbox.files(), { 'conf/a.json': '{"k":2}', 'conf/d/x.json': '{"k":1}' });
      await writeFile(path.join(sandbox.data, 'conf/d/x.json'), '{}');
      const { changes } = await sandbox.inspect({ kind: 'drift' }, target);
      assert.deepEqual(
        changes.map(({ path: at, source, before, after }) => [at, source, before?.text, after?.text]),
        [['conf/d/x.json', 'off/x.json', '{"k":1}', '{}']],
      );
      const next = await commit({ files: { 'off/x.json': '{"k":3,"m":1}' } });
      const { changes: coming } = await sandbox.inspect({ kind: 'diff', ref: 'main', commit: next }, target);
      assert.deepEqual(coming.map(({ path: at, source }) => [at, source]).sort(), [
        ['conf/a.json', 'off/x.json'],
        ['conf/d/x.json', 'off/x.json'],
      ]);
    },
  );

  test('need no git server for a restart', async (t) => {
    const { repo, commit, sandbox } = await localSandbox(t);
    const files = { 'on/a': link('../off/a'), 'off/a': '1' };
    const target = { repo, commit: await commit({ files }), profile: mapped('on') };
    await sandbox.sync(target);
    await rm(sandbox.repo, { recursive: true });
    await sandbox.restart();
    const { plan, isWithoutGit } = await sandbox.sync({ ...target, repo: 'git://127.0.0.1:9/none' });
    assert.deepEqual([plan.changes, plan.corrected, isWithoutGit], [[], [], true]);
  });

  test('are fetched in a few requests, and what they lead to as well', slow, async (t) => {
    const server = await gitServerFor(t);
    const { sandbox, deliver } = await gitSandbox(t, 'links', { server });
    const names = Array.from({ length: 200 }, (_, n) => `${n}`);
    const files = {
      ...Object.fromEntries(names.map((name) => [`on/${name}`, link(`../off/${name}`)])),
      ...Object.fromEntries(names.map((name) => [`off/${name}`, `content ${name}`])),
      ...Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`other/${n}`, `other ${n}`])),
    };
    await deliver(files, mapped('on'));
    assert.equal((await sandbox.files())['on/7'], 'content 7');
    const fetches = server.requests.filter(({ command }) => command === 'fetch');
    assert.ok(fetches.length <= 4, `${fetches.length} fetches`);
  });

  test('are rejected if the paths to missing targets need more memory than the agent has', slow, async (t) => {
    const { repo, commit } = await localSandbox(t);
    const target = (n: number) => link(`../o${n}/${`${'y'.repeat(22)}/`.repeat(125)}z`);
    const names = Array.from({ length: 700 }, (_, n) => [`m/l${n}`, target(n)]);
    const id = await commit({ files: Object.fromEntries(names) });
    const syncWith = async (heapMib: number) => {
      const sandbox = await createSandbox(t, { heapBytes: heapMib * 1024 ** 2 });
      await sandbox.sync({ repo, commit: id, profile: mapped('m') });
    };
    await assert.rejects(syncWith(23), { code: 'sync.TooManyFiles' });
    await assert.rejects(syncWith(32), { code: 'sync.ProfileInvalid', message: /m\/l0 -> .*\/z .* 695 / });
  });

  test('lead to files in Git LFS', slow, async (t) => {
    const server = await gitServerFor(t);
    const lfs = createLfsHost(`${server.url}/any.git/info/lfs/objects`);
    server.lfs = lfs.listener;
    const { sandbox, deliver } = await gitSandbox(t, 'links', { server });
    const files = {
      'off/.gitattributes': '*.bin filter=lfs',
      'off/a.bin': lfs.add('large'),
      'on/b': link('../off/a.bin'),
      'on/d': link('../off'),
    };
    await deliver(files, { ...mapped('on'), excludePatterns: ['.gitattributes'] });
    assert.deepEqual(await sandbox.files(), { 'on/b': 'large', 'on/d/a.bin': 'large' });
  });

  test('lead into submodules, even excluded ones, but only to what is needed', slow, async (t) => {
    const server = await gitServerFor(t);
    const [root, lib, deep] = await Promise.all(['root', 'lib', 'deep'].map(server.createRepository));
    assert.ok(root && lib && deep);
    const modules = (at: string, url: string) => `[submodule "${at}"]\n\tpath = ${at}\n\turl = ${url}\n`;
    const inner = await deep.commit({ files: { d: 'deep' } });
    const outer = await lib.commit({
      files: {
        '.gitmodules': modules('x/deep', '../deep.git'),
        'x/deep': { submodule: inner },
        'x/a': 'a',
        up: link('../secret'),
      },
    });
    const files = {
      '.gitmodules': modules('lib', '../lib.git'),
      lib: { submodule: outer },
      secret: 'secret',
      'on/a': link('../lib/x/a'),
      'on/d': link('../lib/x/deep/d'),
    };
    const sandbox = await createSandbox(t);
    const target = { repo: root.url, commit: await root.commit({ files }), submodules: true, profile: mapped('on') };
    await assert.rejects(
      sandbox.sync({ ...target, submodules: false }),
      /on\/a -> \.\.\/lib\/x\/a \(.*\blib\b.* spec\.git\.submodules/,
    );
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { 'on/a': 'a', 'on/d': 'deep' });
    const excluding = { ...mapped('.'), excludePatterns: ['/lib', '/.gitmodules'] };
    await sandbox.sync({ ...target, profile: excluding });
    assert.deepEqual(await sandbox.files(), { 'on/a': 'a', 'on/d': 'deep', secret: 'secret' });
    const next = await root.commit({ files: { 'on/a': link('../lib/x'), 'on/d': null } });
    await sandbox.sync({ ...target, commit: next });
    assert.deepEqual(await sandbox.files(), { 'on/a/a': 'a', 'on/a/deep/d': 'deep' });
    const leaving = await root.commit({ files: { 'on/up': link('../lib/up') } });
    await assert.rejects(sandbox.sync({ ...target, commit: leaving }), /on\/up -> \.\.\/lib\/up \([^)]*\blib\)/);
  });

  test('are right after every commit of any history', async (t) => {
    const { commit, sandbox, sync } = await localSandbox(t);
    const at = fc.constantFrom('a/x', 'a/y', 'a/d/x', 'a/d/l', 'b', 'b/x', 'b/y', 'c/x', 'c');
    const text = fc.constantFrom('x', 'y', 'd', '../b', '../b/x', '../c', '../../b', '../c/x', 'd/l');
    const tree = fc.dictionary(at, fc.oneof(fc.constantFrom('1', '2'), text.map(link)), { noNullPrototype: true });
    const profile = { ...mapped('a'), syncPeriod: 3600 };
    let before: Record<string, unknown> = {};
    let delivered: Record<string, string> = {};
    const outcomes = { synced: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(tree, async (given) => {
        const names = Object.keys({ 'a/base': 'base', ...given });
        for (const name of names) if (names.some((above) => name.startsWith(`${above}/`))) delete given[name];
        const files: Record<string, string | { symlink: string }> = { 'a/base': 'base', ...given };
        const removed = Object.fromEntries(Object.keys(before).map((name) => [name, null]));
        const id = await commit({ files: { ...removed, ...files } });
        before = files;
        const entries: Tree = {};
        for (const [name, value] of Object.entries(files)) {
          entries[name] = typeof value === 'string' ? 'file' : { link: value.symlink };
        }
        const expected = followLinksIn(entries, { sources: ['a'] });
        const synced = sync(profile, id);
        if (expected.broken.length > 0) {
          await assert.rejects(synced, { code: 'sync.ProfileInvalid' });
          outcomes.refused += 1;
        } else {
          await synced;
          outcomes.synced += 1;
          const sources = Object.entries(expected.files).sort();
          delivered = Object.fromEntries(sources.map(([name, source]) => [name, `${files[source]}`]));
        }
        assert.deepEqual(await sandbox.files(), delivered);
      }),
      { numRuns: runs(50), endOnFailure: true },
    );
    assert.ok(outcomes.synced >= byDepth(0, 10) && outcomes.refused >= byDepth(0, 5), JSON.stringify(outcomes));
  });
});
