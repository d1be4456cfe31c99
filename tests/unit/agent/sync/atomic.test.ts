import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { describeSync } from '../../../../agent/report/describe-sync.ts';
import { reloadSettings } from '../../../../agent/resource/judge-resource.ts';
import type { ResolvedProfile } from '../../../../shared/domain/resolve-profile.ts';
import { slow } from '../../../support/depth.ts';
import { createRepository } from '../support/git-sandbox.ts';
import { createLocalRepository } from '../support/local-sandbox.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import { below, mappingOf, ownContents, treeOf, treesOf, writeInto } from '../support/tree-files.ts';
import { denyLinks } from '../support/volume-calls.ts';

type Mapping = ResolvedProfile['mappings'][number];

const ATOMIC = mappingOf('dags', 'dags', { publish: 'atomic' });
const atomic: Partial<ResolvedProfile> = { mappings: [ATOMIC] };
const plain: Partial<ResolvedProfile> = { mappings: [mappingOf('dags', 'dags')] };

const read = ({ data }: Sandbox, file: string) => fs.readFileSync(path.join(data, file), 'utf8');

const takenOver = (sandbox: Sandbox) => ownContents(sandbox, 'taken-over');

suite('a destination with publish: atomic', () => {
  test('links to a complete tree, which is replaced as a whole; unchanged files stay the same', async (t) => {
    const { url: repo, commit } = await createLocalRepository('atomic-replaced');
    const first = await commit({
      files: { 'dags/a': '1', 'dags/b': '1', 'dags/sub/c': { content: '1', executable: true } },
    });
    const second = await commit({ files: { 'dags/a': '2', 'dags/new/d': '2', 'dags/b': null } });
    const sandbox = await createSandbox(t);
    await sandbox.sync({ repo, commit: first, profile: atomic });
    const old = treeOf(sandbox);
    assert.match(fs.readlinkSync(path.join(sandbox.data, 'dags')), /^\.sync-agent\/trees\/[\w-]+$/);
    assert.deepEqual(below(old), { a: '1', b: '1', 'sub/c': '1' });
    for (const directory of [old, path.join(old, 'sub')]) assert.equal(fs.statSync(directory).mode & 0o777, 0o555);
    const { ino, mode } = fs.statSync(path.join(old, 'sub/c'));
    assert.equal(mode & 0o777, 0o755);

    const { plan } = await sandbox.sync({ repo, commit: second, profile: atomic });
    assert.deepEqual(plan.changes.map(({ kind, path: file }) => `${kind} ${file}`).sort(), [
      'add dags/new/d',
      'delete dags/b',
      'modify dags/a',
    ]);
    assert.deepEqual(below(treeOf(sandbox)), { a: '2', 'new/d': '2', 'sub/c': '1' });
    assert.equal(fs.statSync(path.join(sandbox.data, 'dags/sub/c')).ino, ino);
    assert.deepEqual(below(old), { a: '1', b: '1', 'sub/c': '1' }, 'the previous tree stays for its readers');

    await sandbox.removeTrees();
    assert.deepEqual(treesOf(sandbox), [path.basename(treeOf(sandbox))]);
    assert.deepEqual(below(treeOf(sandbox)), { a: '2', 'new/d': '2', 'sub/c': '1' });
    assert.deepEqual(takenOver(sandbox), []);
    for (const name of ['building', 'staging', 'saved'])
      assert.deepEqual(fs.readdirSync(path.join(sandbox.data, '.sync-agent', name)), []);
  });

  test('is unchanged by a sync that changes nothing in it, also after a restart', async (t) => {
    const { url: repo, commit } = await createLocalRepository('atomic-unchanged');
    const first = await commit({ files: { 'dags/a': '1', other: '1' } });
    const second = await commit({ files: { other: '2' } });
    const profile = { mappings: [ATOMIC, mappingOf('other', 'other')] };
    const sandbox = await createSandbox(t);
    await sandbox.sync({ repo, commit: first, profile });
    const tree = treeOf(sandbox);
    await sandbox.sync({ repo, commit: second, profile });
    assert.equal(read(sandbox, 'other'), '2');
    await sandbox.restart();
    const { plan, isWithoutGit } = await sandbox.sync({ repo, commit: second, profile });
    assert.deepEqual([plan.changes, plan.publications], [[], []]);
    assert.equal(isWithoutGit ?? false, false);
    assert.equal(treeOf(sandbox), tree);
  });

  test('has one tree for all mappings at or below it, laid over one another', async (t) => {
    const { url: repo, commit } = await createLocalRepository('atomic-layers');
    const files = { 'dags/a': '1', 'dags/b': '1', 'over/b': '2', 'over/c': '2', 'all/dags/d': '3', 'all/e': '3' };
    const id = await commit({ files });
    const sandbox = await createSandbox(t);
    const mappings = [
      mappingOf('all', '.'),
      ATOMIC,
      mappingOf('over', 'dags', { publish: 'files' }),
      mappingOf('over', 'dags/sub/deep', { publish: 'atomic' }),
    ];
    await sandbox.sync({ repo, commit: id, profile: { mappings } });
    assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '2', c: '2', d: '3', 'sub/deep/b': '2', 'sub/deep/c': '2' });
    assert.equal(read(sandbox, 'e'), '3');
    assert.deepEqual(treesOf(sandbox).length, 1);
    await sandbox.sync({ repo, commit: id, profile: { mappings: [mappingOf('all', '.')] } });
    await sandbox.removeTrees();
    assert.deepEqual(await sandbox.files(), { 'dags/d': '3', e: '3' });
    assert.deepEqual([treesOf(sandbox), takenOver(sandbox)], [[], []]);
  });

  test('below other directories is a relative link, and is removed with its directories', async (t) => {
    const { url: repo, commit } = await createLocalRepository('atomic-deep');
    const id = await commit({ files: { 'dags/a': '1', other: '1' } });
    const sandbox = await createSandbox(t);
    const deep = mappingOf('dags', 'x/y/dags', { publish: 'atomic' });
    await sandbox.sync({ repo, commit: id, profile: { mappings: [deep, mappingOf('other', 'other')] } });
    assert.match(fs.readlinkSync(path.join(sandbox.data, 'x/y/dags')), /^\.\.\/\.\.\/\.sync-agent\/trees\//);
    assert.equal(read(sandbox, 'x/y/dags/a'), '1');
    await sandbox.sync({ repo, commit: id, profile: { mappings: [mappingOf('other', 'other')] } });
    assert.equal(fs.existsSync(path.join(sandbox.data, 'x')), false);
    await sandbox.removeTrees();
    assert.deepEqual([treesOf(sandbox), takenOver(sandbox)], [[], []]);
  });

  test('can have templates, patches, and excludes', async (t) => {
    const { url: repo, commit } = await createLocalRepository('atomic-rendered');
    const files = { 'dags/t': '{{ .GatewayName }}', 'dags/p.json': '{"a": 1}', 'dags/no': 'x' };
    const first = await commit({ files });
    const second = await commit({ files: { 'dags/u': 'u' } });
    const sandbox = await createSandbox(t);
    const patches = [{ file: 'p.json', set: { a: '2' } }];
    const profile = { mappings: [{ ...ATOMIC, template: true, patches }], excludePatterns: ['no'] };
    for (const id of [first, second, first]) await sandbox.sync({ repo, commit: id, profile });
    assert.deepEqual(below(treeOf(sandbox)), { t: 'edge', 'p.json': '{"a": 2}' });
    await sandbox.removeTrees();
    assert.deepEqual(takenOver(sandbox), []);
  });

  test(
    'keeps files that are no longer mapped with prune: false, and those of a missing optional source',
    slow,
    async (t) => {
      const { url: repo, commit } = await createLocalRepository('atomic-kept');
      const first = await commit({ files: { 'dags/a': '1', 'dags/b': '1', other: '1' } });
      const second = await commit({ files: { 'dags/b': null, 'dags/c': '2' } });
      const third = await commit({ files: { 'dags/a': null, 'dags/c': null, other: '3' } });
      const sandbox = await createSandbox(t);
      const mappings = [{ ...ATOMIC, required: false }, mappingOf('other', 'other')];
      await sandbox.sync({ repo, commit: first, profile: { mappings, prune: false } });
      await sandbox.sync({ repo, commit: second, profile: { mappings, prune: false } });
      assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1', c: '2' });
      await sandbox.sync({ repo, commit: third, profile: { mappings } });
      assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1', c: '2' });
      await sandbox.sync({ repo, commit: third, profile: { mappings: [mappingOf('other', 'other')], prune: false } });
      assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1', c: '2' });
      await sandbox.sync({ repo, commit: third, profile: { mappings: [mappingOf('other', 'other')] } });
      await sandbox.removeTrees();
      assert.deepEqual(await sandbox.files(), { other: '3' });
      assert.deepEqual(takenOver(sandbox), []);
    },
  );

  test('is only planned in a dry run, and compared in inspections', slow, async (t) => {
    const { url: repo, commit } = await createRepository('atomic-dry');
    const first = await commit({ files: { 'dags/a': '1' } });
    const second = await commit({ files: { 'dags/a': '2' } });
    const sandbox = await createSandbox(t);
    await sandbox.sync({ repo, commit: first, profile: atomic });
    const tree = treeOf(sandbox);
    const { plan } = await sandbox.sync({ repo, commit: second, profile: { ...atomic, dryRun: true } });
    assert.deepEqual(
      plan.changes.map(({ kind, path: file }) => `${kind} ${file}`),
      ['modify dags/a'],
    );
    assert.equal(treeOf(sandbox), tree);
    fs.writeFileSync(path.join(tree, 'a'), 'x');
    const { changes } = await sandbox.inspect({ kind: 'drift' }, { repo, commit: first, profile: atomic });
    assert.deepEqual(
      changes.map(({ path: file, before, after }) => [file, before?.text, after?.text]),
      [['dags/a', '1', 'x']],
    );
    fs.unlinkSync(path.join(sandbox.data, 'dags'));
    const missing = await sandbox.inspect({ kind: 'drift' }, { repo, commit: first, profile: atomic });
    assert.deepEqual(
      missing.changes.map(({ path: file, reason, leftOut }) => [file, reason, leftOut]),
      [
        ['dags', 'Missing', 'noFile'],
        ['dags/a', 'Drifted', undefined],
      ],
    );
    fs.symlinkSync(path.relative(sandbox.data, tree), path.join(sandbox.data, 'dags'));
    const diff = await sandbox.inspect({ kind: 'diff', commit: second }, { repo, commit: second, profile: atomic });
    assert.deepEqual(
      diff.changes.map(({ path: file, after }) => [file, after?.text]),
      [['dags/a', '2']],
    );
  });

  test('must be a directory in the volume, with a directory as its source', async (t) => {
    const { url: repo, commit } = await createLocalRepository('atomic-refused');
    const id = await commit({ files: { 'dags/a': '1' } });
    const sandbox = await createSandbox(t);
    const refused = async (mappings: Mapping[], message: RegExp) =>
      assert.rejects(sandbox.sync({ repo, commit: id, profile: { mappings } }), message);
    await refused([mappingOf('dags', '.', { publish: 'atomic' })], /publish: atomic makes .* root of the data volume/);
    await refused([mappingOf('dags', 'x', { publish: 'atomic', type: 'file' })], /needs a directory as the source/);
    await refused([mappingOf('dags/a', 'x', { publish: 'atomic' })], /dags\/a is a file, but publish: atomic/);
    assert.deepEqual(await sandbox.files(), {});
  });

  test('needs a volume with links', async (t) => {
    const { url: repo, commit } = await createLocalRepository('atomic-no-links');
    const id = await commit({ files: { 'dags/a': '1' } });
    const sandbox = await createSandbox(t);
    denyLinks(true);
    t.after(() => denyLinks(false));
    await assert.rejects(sandbox.sync({ repo, commit: id, profile: atomic }), /needs hard and symbolic links/);
    assert.deepEqual(await sandbox.files(), {});
    await sandbox.sync({ repo, commit: id, profile: plain });
    assert.deepEqual(await sandbox.files(), { 'dags/a': '1' });
  });

  test('cannot be where the gateway mounts something, or contain the file to touch', async (t) => {
    const { url: repo, commit } = await createLocalRepository('atomic-mounted');
    const id = await commit({ files: { 'dags/a': '1' } });
    const sandbox = await createSandbox(t, { mounts: ['dags/cache'] });
    await assert.rejects(sandbox.sync({ repo, commit: id, profile: atomic }), /mounts another volume at dags\/cache/);
    const reload = { ...reloadSettings({ gateway: undefined }), touchFile: 'dags/touched' };
    const other = await createSandbox(t);
    await assert.rejects(other.sync({ repo, commit: id, profile: atomic, reload }), /touchFile: dags\/touched is in/);
  });
});

suite('in a tree,', () => {
  const commits = async (name: string) => {
    const { url: repo, commit } = await createLocalRepository(name);
    const first = await commit({ files: { 'dags/a': '1', 'dags/b': '1' } });
    const second = await commit({ files: { 'dags/b': '2', 'dags/n': '2' } });
    return { repo, first, second };
  };

  test('a file that the gateway changed is written again, and the change is kept', async (t) => {
    const { repo, first } = await commits('atomic-drift');
    const sandbox = await createSandbox(t);
    await sandbox.sync({ repo, commit: first, profile: atomic });
    const old = treeOf(sandbox);
    fs.writeFileSync(path.join(old, 'a'), 'x');
    const { plan } = await sandbox.sync({ repo, commit: first, profile: atomic });
    assert.deepEqual(plan.drift, [{ path: 'dags/a', reason: 'Drifted', isRepaired: true }]);
    assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1' });
    assert.equal(fs.readFileSync(path.join(old, 'a'), 'utf8'), 'x', 'never repaired in place');
    await sandbox.removeTrees();
    assert.deepEqual(takenOver(sandbox), ['x']);
  });

  for (const drift of ['report', 'ignore', 'repair'] as const) {
    test(`a changed and a removed file are written again with the next commit (drift: ${drift})`, async (t) => {
      const { repo, first, second } = await commits(`atomic-drift-${drift}`);
      const sandbox = await createSandbox(t);
      const profile = { ...atomic, drift };
      await sandbox.sync({ repo, commit: first, profile });
      fs.writeFileSync(path.join(treeOf(sandbox), 'a'), 'x');
      if (drift !== 'repair') {
        const { plan } = await sandbox.sync({ repo, commit: first, profile });
        assert.deepEqual(plan.drift.length, drift === 'report' ? 1 : 0);
        assert.equal(read(sandbox, 'dags/a'), 'x');
      }
      await sandbox.sync({ repo, commit: second, profile });
      assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '2', n: '2' });
      await sandbox.removeTrees();
      assert.deepEqual(takenOver(sandbox), ['x']);
      fs.chmodSync(treeOf(sandbox), 0o755);
      fs.unlinkSync(path.join(treeOf(sandbox), 'a'));
      await sandbox.sync({ repo, commit: first, profile });
      assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1' });
    });
  }

  test('files of the gateway block no sync, and are kept', async (t) => {
    const { repo, first, second } = await commits('atomic-theirs');
    const sandbox = await createSandbox(t);
    await sandbox.sync({ repo, commit: first, profile: { ...atomic, onConflict: 'refuse' } });
    const old = treeOf(sandbox);
    writeInto(old, '__pycache__/a.pyc', 'compiled');
    writeInto(old, 'n/directory', 'in the way');
    const outside = path.join(sandbox.directory, 'outside');
    fs.mkdirSync(outside);
    fs.chmodSync(old, 0o755);
    fs.symlinkSync(outside, path.join(old, 'link'));
    fs.writeFileSync(path.join(outside, 'file'), 'outside');
    await sandbox.sync({ repo, commit: second, profile: { ...atomic, onConflict: 'refuse' } });
    assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '2', n: '2' });
    await sandbox.removeTrees();
    assert.deepEqual(takenOver(sandbox), ['compiled', 'in the way', 'outside'], 'the link is kept as one');
    assert.deepEqual(below(outside), { file: 'outside' });
  });

  test('the same file of the gateway is kept once', async (t) => {
    const { repo, first, second } = await commits('atomic-pycache');
    const sandbox = await createSandbox(t);
    for (const id of [first, second, first, second]) {
      await sandbox.sync({ repo, commit: id, profile: atomic });
      writeInto(treeOf(sandbox), '__pycache__/a.pyc', 'compiled');
      await sandbox.removeTrees();
    }
    assert.deepEqual(takenOver(sandbox), ['compiled']);
  });

  for (const drift of ['report', 'repair'] as const) {
    test(`a removed link is drift (${drift})`, async (t) => {
      const { repo, first } = await commits(`atomic-link-${drift}`);
      const sandbox = await createSandbox(t);
      const profile = { ...atomic, drift };
      await sandbox.sync({ repo, commit: first, profile });
      fs.unlinkSync(path.join(sandbox.data, 'dags'));
      const { plan } = await sandbox.sync({ repo, commit: first, profile });
      assert.deepEqual(plan.drift, [{ path: 'dags', reason: 'Missing', isRepaired: drift === 'repair' }]);
      assert.equal(fs.existsSync(path.join(sandbox.data, 'dags/a')), drift === 'repair');
      await sandbox.removeTrees();
      assert.deepEqual(takenOver(sandbox), []);
    });
  }

  test('a link of others is never replaced', async (t) => {
    const { repo, first, second } = await commits('atomic-foreign-link');
    const sandbox = await createSandbox(t);
    const link = path.join(sandbox.data, 'dags');
    fs.symlinkSync('elsewhere', link);
    await assert.rejects(sandbox.sync({ repo, commit: first, profile: atomic }), /dags is a file or a symbolic link/);
    fs.unlinkSync(link);
    await sandbox.sync({ repo, commit: first, profile: atomic });
    fs.unlinkSync(link);
    fs.writeFileSync(link, 'theirs');
    await assert.rejects(sandbox.sync({ repo, commit: second, profile: atomic }), /dags is a file or a symbolic link/);
    assert.equal(fs.readFileSync(link, 'utf8'), 'theirs');
  });

  for (const name of ['trees', 'building']) {
    test(`a link in the place of ${name} leads nowhere`, async (t) => {
      const { repo, first, second } = await commits(`atomic-hostile-${name}`);
      const sandbox = await createSandbox(t);
      await sandbox.sync({ repo, commit: first, profile: atomic });
      const outside = path.join(sandbox.directory, 'outside');
      const own = path.join(sandbox.data, '.sync-agent', name);
      fs.cpSync(own, outside, { recursive: true });
      fs.renameSync(own, `${own}.moved`);
      fs.symlinkSync(outside, own);
      const before = below(outside);
      await assert.rejects(sandbox.sync({ repo, commit: second, profile: atomic }), /must be a directory/);
      await sandbox.removeTrees().catch(() => {});
      assert.deepEqual(below(outside), before);
    });
  }

  test('a link in the place of a directory leads nowhere', async (t) => {
    const { url: repo, commit } = await createLocalRepository('atomic-hostile-inside');
    const first = await commit({ files: { 'dags/sub/a': '1', 'dags/b': '1' } });
    const second = await commit({ files: { 'dags/b': '2' } });
    const sandbox = await createSandbox(t);
    await sandbox.sync({ repo, commit: first, profile: atomic });
    const outside = path.join(sandbox.directory, 'outside');
    fs.mkdirSync(outside);
    fs.writeFileSync(path.join(outside, 'a'), '1');
    const old = treeOf(sandbox);
    fs.chmodSync(old, 0o755);
    fs.chmodSync(path.join(old, 'sub'), 0o755);
    fs.rmSync(path.join(old, 'sub'), { recursive: true });
    fs.symlinkSync(outside, path.join(old, 'sub'));
    await sandbox.sync({ repo, commit: second, profile: atomic });
    assert.deepEqual(below(treeOf(sandbox)), { 'sub/a': '1', b: '2' });
    assert.ok(fs.lstatSync(path.join(treeOf(sandbox), 'sub')).isDirectory());
    await sandbox.removeTrees();
    assert.deepEqual(below(outside), { a: '1' });
  });
});

suite('a directory that is there before', () => {
  const prepare = async (name: string) => {
    const { url: repo, commit } = await createLocalRepository(name);
    const id = await commit({ files: { 'dags/a': '1', 'dags/sub/b': '1', other: '1' } });
    return { repo, commit: id };
  };

  test('is kept as a whole, and restored when it is no longer mapped', async (t) => {
    const target = await prepare('atomic-before');
    const sandbox = await createSandbox(t);
    fs.mkdirSync(path.join(sandbox.data, 'dags/x'), { recursive: true });
    fs.writeFileSync(path.join(sandbox.data, 'dags/a'), 'theirs');
    fs.writeFileSync(path.join(sandbox.data, 'dags/x/y'), 'theirs, too');
    await sandbox.sync({ ...target, profile: atomic });
    assert.deepEqual(below(treeOf(sandbox)), { a: '1', 'sub/b': '1' });
    assert.deepEqual(takenOver(sandbox), ['theirs', 'theirs, too']);
    await sandbox.sync({ ...target, profile: { mappings: [mappingOf('other', 'other')] } });
    await sandbox.removeTrees();
    assert.deepEqual(await sandbox.files(), { 'dags/a': 'theirs', 'dags/x/y': 'theirs, too', other: '1' });
    assert.deepEqual(takenOver(sandbox), []);
  });

  test('is refused with onConflict: refuse', async (t) => {
    const target = await prepare('atomic-refuse');
    const sandbox = await createSandbox(t);
    fs.mkdirSync(path.join(sandbox.data, 'dags'));
    fs.writeFileSync(path.join(sandbox.data, 'dags/x'), 'theirs');
    const profile = { ...atomic, onConflict: 'refuse' as const };
    await assert.rejects(sandbox.sync({ ...target, profile }), /dags is a directory .* such as dags\/x/);
    assert.deepEqual(await sandbox.files(), { 'dags/x': 'theirs' });
  });

  test('with files of the agent becomes a link, and back; nothing is written again', async (t) => {
    const target = await prepare('atomic-on-off');
    const sandbox = await createSandbox(t);
    await sandbox.sync({ ...target, profile: plain });
    const { ino } = fs.statSync(path.join(sandbox.data, 'dags/sub/b'));
    const dry = await sandbox.sync({ ...target, profile: { ...atomic, dryRun: true } });
    assert.match(describeSync(dry, []).message ?? '', /1 changes .*; missing for a moment, .*: dags$/);
    const on = await sandbox.sync({ ...target, profile: atomic });
    assert.deepEqual(on.plan.changes, []);
    assert.deepEqual(below(treeOf(sandbox)), { a: '1', 'sub/b': '1' });
    await sandbox.removeTrees();
    const off = await sandbox.sync({ ...target, profile: plain });
    assert.deepEqual(off.plan.changes, []);
    assert.ok(fs.lstatSync(path.join(sandbox.data, 'dags')).isDirectory());
    assert.equal(fs.lstatSync(path.join(sandbox.data, 'dags')).mode & 0o777, 0o755);
    assert.equal(fs.statSync(path.join(sandbox.data, 'dags/sub/b')).ino, ino);
    await sandbox.removeTrees();
    assert.deepEqual(treesOf(sandbox), []);
    await sandbox.sync({ ...target, profile: { mappings: [mappingOf('other', 'other')] } });
    assert.deepEqual(await sandbox.files(), { other: '1' });
    assert.deepEqual(fs.readdirSync(sandbox.data).sort(), ['.sync-agent', 'other']);
    assert.deepEqual(takenOver(sandbox), []);
  });

  test('can contain another tree, or be inside one', slow, async (t) => {
    const target = await prepare('atomic-nested');
    const sandbox = await createSandbox(t);
    const inner = {
      mappings: [mappingOf('dags', 'dags'), mappingOf('dags', 'dags/in', { publish: 'atomic' as const })],
    };
    const outer = { mappings: [ATOMIC, mappingOf('dags', 'dags/in')] };
    const all = { a: '1', 'sub/b': '1', 'in/a': '1', 'in/sub/b': '1' };
    for (const profile of [inner, outer, inner, plain, outer, atomic, inner]) {
      await sandbox.sync({ ...target, profile });
      const wanted = profile === plain || profile === atomic ? { a: '1', 'sub/b': '1' } : all;
      for (const [file, text] of Object.entries(wanted)) assert.equal(read(sandbox, `dags/${file}`), text);
      await sandbox.removeTrees();
      assert.deepEqual(takenOver(sandbox), []);
    }
    await sandbox.sync({ ...target, profile: { mappings: [mappingOf('other', 'other')] } });
    await sandbox.removeTrees();
    assert.deepEqual(fs.readdirSync(sandbox.data).sort(), ['.sync-agent', 'other']);
    assert.deepEqual([treesOf(sandbox), takenOver(sandbox)], [[], []]);
  });
});
