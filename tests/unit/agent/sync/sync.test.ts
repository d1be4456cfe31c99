import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import type { ResolvedProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { omit } from '../../../../shared/domain/text/objects.ts';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { changesOf, pathsOf } from '../support/changes-of.ts';
import { type GitSandbox, gitSandbox } from '../support/git-sandbox.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { mappingOf } from '../support/tree-files.ts';

suite('a sync', () => {
  test('delivers the tree, then has nothing to do or fetch', async (t) => {
    const server = await gitServerFor(t);
    const { sandbox, sync, deliver } = await gitSandbox(t, 'sync', { server });
    const files = { a: '1', 'b/c': '2', 'b/leer': '' };
    await deliver(files);
    assert.deepEqual(await sandbox.files(), files);
    const requests = server.requests.length;
    const { plan } = await sync();
    assert.deepEqual([plan.changes, plan.unchanged], [[], 3]);
    await sandbox.restart();
    assert.deepEqual((await sync()).plan.changes, []);
    assert.equal(server.requests.length, requests);
  });

  test('records the revision on disk, even if it changes no file', async (t) => {
    const { repo, commit, sandbox, at } = await localSandbox(t);
    const target = { repo, commit: await commit({ files: { a: '1' } }) };
    const manifest = at('.sync-agent/manifest.jsonl');
    const noted = async () => JSON.parse((await readFile(manifest, 'utf8')).trim().split('\n').at(-1) ?? '').applied;
    for (const more of [{ revision: 'r1' }, { revision: 'r2' }, {}]) {
      await sandbox.sync({ ...target, ...more });
      const applied = omit(await noted(), 'time', 'recipe');
      assert.deepEqual(applied, { ref: 'main', commit: target.commit, ...more });
    }
    const text = await readFile(manifest, 'utf8');
    await sandbox.sync(target);
    assert.equal(await readFile(manifest, 'utf8'), text, 'and then there is nothing to note');
  });

  test('detects drift in content and mode, and repairs it without a fetch', async (t) => {
    const { sandbox, at, sync, deliver } = await localSandbox(t);
    await deliver({ a: '1', b: '2', c: '3', d: '4', e: '5' });
    await writeFile(at('a'), 'x');
    await rm(at('b'));
    await chmod(at('c'), 0o755);
    await utimes(at('d'), 0, 0);
    await rm(at('e'));
    await symlink('/etc/passwd', at('e'));
    const { plan } = await sync();
    assert.deepEqual(changesOf(plan), ['modify a Drifted', 'add b Missing', 'modify c Drifted', 'modify e Drifted']);
    assert.deepEqual(await sandbox.files(), { a: '1', b: '2', c: '3', d: '4', e: '5' });
    assert.equal(sandbox.fetches, 1);
  });

  test('of a commit soon after a check compares only changed files; the next check finds drift', async (t) => {
    const { sandbox, at, sync, deliver } = await localSandbox(t);
    await deliver({ a: '1', b: '1' });
    await writeFile(at('a'), 'x');
    await deliver({ b: '2' });
    assert.deepEqual(await sandbox.files(), { a: 'x', b: '2' });
    assert.equal((await sync()).plan.changes[0]?.reason, 'Drifted');
    assert.deepEqual(await sandbox.files(), { a: '1', b: '2' });
  });

  for (const kept of ['prune: false', 'an optional source'] as const) {
    test(`keeps a template as it was rendered if ${kept} retains it, even for another commit`, slow, async (t) => {
      const { commit, sandbox, sync, deliver } = await localSandbox(t);
      const profile = {
        prune: kept !== 'prune: false',
        mappings: [mappingOf('a', 'a', { template: true }), mappingOf('b', 'b', { template: true, required: false })],
      };
      const gone = kept === 'prune: false' ? 'a/t' : 'b/t';
      const first = await commit({ files: { [gone]: '{{ .Commit }}', 'a/k': '1' } });
      await sync(profile, first);
      await deliver({ [gone]: null, 'a/k': '2' }, profile);
      const { plan } = await deliver({ 'a/k': '3' }, profile);
      assert.deepEqual(pathsOf(plan), ['a/k']);
      assert.deepEqual(await sandbox.files(), { [gone]: first, 'a/k': '3' });
    });
  }

  test('removes directories with their files, even soon after a check', async (t) => {
    const { commit, sandbox, at, sync, deliver } = await localSandbox(t);
    await deliver({ a: '1', 'b/c/d': '1', 'b/e': '1', x: '1' });
    await mkdir(at('b/own'));
    const moved = await commit({ files: { a: null, 'b/c/d': null, 'f/g/d': '1', x: '#2' } });
    const { plan } = await sync({}, moved);
    assert.deepEqual(changesOf(plan).sort(), [
      'add f/g/d New',
      'delete a NoLongerMapped',
      'delete b/c/d NoLongerMapped',
      'modify x ContentChanged',
    ]);
    assert.equal(plan.unchanged, 1);
    assert.deepEqual((await readdir(sandbox.data)).sort(), ['.sync-agent', 'b', 'f', 'x']);
    assert.deepEqual((await readdir(at('b'))).sort(), ['e', 'own']);
    await sandbox.restart();
    assert.deepEqual((await sync({}, moved)).plan.changes, []);
  });

  test('renders a template that names the commit each time, even if nothing else changes', async (t) => {
    const { commit, sandbox, sync } = await localSandbox(t);
    const profile = { mappings: [mappingOf('a', 'a', { template: true })] };
    const first = await commit({ files: { 'a/x': '{{ .Commit }}', 'a/y': 'same', other: '1' } });
    await sync(profile, first);
    const second = await commit({ files: { other: '2' } });
    const { plan } = await sync(profile, second);
    assert.deepEqual([pathsOf(plan), plan.unchanged], [['a/x'], 1]);
    assert.deepEqual(await sandbox.files(), { 'a/x': second, 'a/y': 'same' });
  });

  test("rejects a commit that can't be delivered, even soon after a check", async (t) => {
    const { commit, sandbox, sync, deliver } = await localSandbox(t);
    await deliver({ a: '1', b: '1' });
    const second = await commit({ files: { b: '2', l: { symlink: 'c' } } });
    await assert.rejects(sync({}, second), { code: 'sync.ProfileInvalid', message: /l -> c / });
    assert.deepEqual(await sandbox.files(), { a: '1', b: '1' });
    await deliver({ b: '3', l: null });
    assert.deepEqual(await sandbox.files(), { a: '1', b: '3' });
  });

  test('applies a changed profile to the same commit', async (t) => {
    const { sandbox, sync, deliver } = await localSandbox(t);
    await deliver(
      { 'a/x': '1', 'b/y': 'n={{ .Vars.n }}', 'b/bin': 'a\0{{ .No }}' },
      { mappings: [mappingOf('a', 'p')] },
    );
    assert.deepEqual(await sandbox.files(), { 'p/x': '1' });
    const profile = { mappings: [mappingOf('b', 'q', { template: true })], vars: { n: '1' } };
    await sync(profile);
    assert.deepEqual(await sandbox.files(), { 'q/bin': 'a\0{{ .No }}', 'q/y': 'n=1' });
    const { plan } = await sync({ ...profile, vars: { n: '2' } });
    assert.deepEqual(changesOf(plan), ['modify q/y ValuesChanged']);
    assert.deepEqual(await sandbox.files(), { 'q/bin': 'a\0{{ .No }}', 'q/y': 'n=2' });
  });

  test("rejects a template in text that isn't UTF-8, with its file and byte, even in a dry run", async (t) => {
    const { sandbox, commit, sync } = await localSandbox(t);
    const content = Buffer.from('city=K\xf6ln\nname={{ .GatewayName }}\n', 'latin1');
    await commit({ files: { 'a.properties': content, b: '1' } });
    const mappings = [mappingOf('a.properties', 'a.properties', { template: true }), mappingOf('b', 'b')];
    const refusal = { reason: 'ContentInvalid', message: /^a\.properties: byte 6 .* at byte 15 / };
    for (const dryRun of [true, false]) await assert.rejects(sync({ mappings, dryRun }), refusal);
    assert.deepEqual(await sandbox.files(), {});
  });

  test('patches JSON byte by byte, again when a value changes, and repairs drift of it', async (t) => {
    const { commit, sandbox, at, sync } = await localSandbox(t);
    const json = '{\n  "id": 12345678901234567890,\n  "name": "x", "port":1\n}\n';
    await commit({ files: { 'c/a.json': json, 'c/d/b.json': json, 'c/e': json } });
    const patches = [
      { file: '**/*.json', set: { name: '{{ .GatewayName }}' } },
      { file: 'a.json', set: { port: '{{ .Vars.port }}' } },
    ];
    const profile = (port: string) => ({ mappings: [mappingOf('c', '.', { patches })], vars: { port } });
    const expected = (port: string) => ({
      'a.json': json.replace('"x"', '"edge"').replace('"port":1', `"port":${port}`),
      'd/b.json': json.replace('"x"', '"edge"'),
      e: json,
    });
    await sync(profile('2'));
    assert.deepEqual(await sandbox.files(), expected('2'));
    await sandbox.restart();
    assert.deepEqual((await sync(profile('2'))).plan.changes, []);
    const { plan } = await sync(profile('3'));
    assert.deepEqual(changesOf(plan), ['modify a.json PatchesChanged']);
    await writeFile(at('a.json'), json);
    assert.equal((await sync(profile('3'))).plan.changes[0]?.reason, 'Drifted');
    assert.deepEqual(await sandbox.files(), expected('3'));
    await sync({ mappings: [mappingOf('c', '.')] });
    assert.deepEqual(await sandbox.files(), { 'a.json': json, 'd/b.json': json, e: json });
  });

  test('lists in a dry run what it would change, and no file whose content stays the same', slow, async (t) => {
    const { repo, commit, sandbox, at, deliver } = await localSandbox(t);
    const patches = [{ file: '*.json', set: { name: '{{ .GatewayName }}' } }];
    const profile = (vars: Record<string, string>) => ({
      mappings: [mappingOf('t', 't', { template: true }), mappingOf('j', 'j', { patches })],
      vars,
    });
    const first = {
      't/both': '{{ .Vars.a }}{{ .Vars.b }}',
      't/one': '{{ .Vars.a }}',
      'j/a.json': '{"name": "x"}',
      'j/b.json': '{"name": "x", "n": 1}',
    };
    await deliver(first, profile({ a: '1', b: '12' }));
    await mkdir(at('j'), { recursive: true });
    await writeFile(at('j/c.json'), '{"name":"edge"}');
    const second = { 'j/a.json': '{"name": "y"}', 'j/b.json': '{"name": "y", "n": 2}', 'j/c.json': '{"name":"?"}' };
    const target = { repo, commit: await commit({ files: second }), profile: profile({ a: '11', b: '2' }) };
    const before = await sandbox.files();
    const rehearsed = await sandbox.sync({ ...target, profile: { ...target.profile, dryRun: true } });
    assert.deepEqual(await sandbox.files(), before);
    const { plan } = await sandbox.sync(target);
    assert.deepEqual(plan.changes, rehearsed.plan.changes);
    const after = await sandbox.files();
    const changed = Object.keys(after).filter((file) => after[file] !== before[file]);
    assert.deepEqual(pathsOf(plan), changed);
    assert.deepEqual(changed, ['j/b.json', 't/one']);
    assert.deepEqual((await sandbox.sync(target)).plan.changes, []);
    await writeFile(at('j/a.json'), '{"name": "x"}');
    assert.deepEqual((await sandbox.sync(target)).plan.changes[0]?.reason, 'Drifted');
  });

  test('streams a large file', slow, async (t) => {
    const { commit, at, sync } = await localSandbox(t);
    const large = Buffer.alloc(96 * 1024 * 1024, 'large\n');
    await commit({ files: { large } });
    globalThis.gc?.();
    const before = process.memoryUsage.rss();
    await sync({ mappings: [mappingOf('large', 'large')] });
    const grown = process.memoryUsage.rss() - before;
    assert.ok((await readFile(at('large'))).equals(large));
    assert.ok(grown < 64 * 1024 * 1024, `grew by ${grown} bytes`);
  });
});

suite('a sync is rejected without any change because of', () => {
  const refused: {
    name: string;
    files: Parameters<GitSandbox['deliver']>[0];
    profile?: Partial<ResolvedProfile>;
    refusal: { code: string; message: RegExp };
  }[] = [
    {
      name: 'a template with a missing key',
      files: { a: '1', b: '{{ .Vars.none }}' },
      profile: { mappings: [mappingOf('.', '.', { template: true })] },
      refusal: { code: 'content.invalid', message: /^b: line 1: / },
    },
    {
      name: 'a link in the repository, with links: refuse',
      files: { a: '1', l: { symlink: 'a' } },
      profile: { links: 'refuse' },
      refusal: { code: 'sync.ProfileInvalid', message: /\bl / },
    },
    {
      name: 'a patch of what is no JSON',
      files: { a: '1', 'c.json': '{' },
      profile: {
        mappings: [mappingOf('a', 'a'), mappingOf('c.json', 'c', { patches: [{ file: '', set: { a: '1' } }] })],
      },
      refusal: { code: 'content.invalid', message: /^c\.json / },
    },
  ];
  for (const { name, files, profile, refusal } of refused) {
    test(`${name}, even in a dry run`, slow, async (t) => {
      const { commit, sandbox, sync } = await localSandbox(t);
      await commit({ files: files });
      await assert.rejects(sync({ ...profile, dryRun: true }), refusal);
      await assert.rejects(sync({ ...profile }), refusal);
      assert.deepEqual(await sandbox.files(), {});
    });
  }

  test('links in the data volume, and the files behind them', async (t) => {
    const { commit, sandbox, at, sync } = await localSandbox(t);
    const outside = path.join(sandbox.directory, 'outside');
    await mkdir(outside);
    await writeFile(path.join(outside, 'x'), 'theirs');
    await symlink(outside, at('d'));
    await commit({ files: { 'd/x': '1' } });
    await assert.rejects(sync(), { code: 'sync.PathConflict', message: /^d / });
    assert.equal(await readFile(path.join(outside, 'x'), 'utf8'), 'theirs');
  });

  test('links that replaced a directory after it was filled', async (t) => {
    const { sandbox, at, deliver } = await localSandbox(t);
    await deliver({ 'd/x': '1', a: '1' });
    const moved = path.join(sandbox.directory, 'moved');
    await rename(at('d'), moved);
    await symlink(moved, at('d'));
    await deliver({ 'd/x': null });
    assert.equal(await readFile(path.join(moved, 'x'), 'utf8'), '1');
    assert.equal((await sandbox.files()).d, `-> ${moved}`);
  });
});
