import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { describeSync } from '../../../../agent/report/describe-sync.ts';
import { reloadSettings } from '../../../../agent/resource/judge-resource.ts';
import type { ResolvedProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { slow } from '../../../support/depth.ts';
import { changesOf } from '../support/changes-of.ts';
import { gitSandbox } from '../support/git-sandbox.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import {
  atomic,
  below,
  expectTrees,
  mappingOf,
  other,
  plain,
  takenOver,
  treeOf,
  treesOf,
  writeInto,
} from '../support/tree-files.ts';
import { denyLinks } from '../support/volume-calls.ts';

const ATOMIC = mappingOf('dags', 'dags', { publish: 'atomic' });
const OTHER = mappingOf('other', 'other');

const modeOf = (file: string) => fs.statSync(file).mode & 0o777;

suite('a destination with publish: atomic', () => {
  test('links to a complete tree, which is replaced as a whole; unchanged files stay the same', async (t) => {
    const { sandbox, at, deliver } = await localSandbox(t);
    await deliver({ 'dags/a': '1', 'dags/b': '1', 'dags/sub/c': { content: '1', executable: true } }, atomic);
    const old = treeOf(sandbox);
    assert.match(fs.readlinkSync(at('dags')), /^\.sync-agent\/trees\/[\w-]+$/);
    assert.deepEqual(below(old), { a: '1', b: '1', 'sub/c': '1' });
    assert.deepEqual([old, path.join(old, 'sub'), path.join(old, 'sub/c')].map(modeOf), [0o555, 0o555, 0o755]);
    const { ino } = fs.statSync(path.join(old, 'sub/c'));

    const { plan } = await deliver({ 'dags/a': '2', 'dags/new/d': '2', 'dags/b': null }, atomic);
    const changes = ['add dags/new/d New', 'delete dags/b NoLongerMapped', 'modify dags/a ContentChanged'];
    assert.deepEqual(changesOf(plan).sort(), changes);
    const next = { a: '2', 'new/d': '2', 'sub/c': '1' };
    assert.deepEqual(below(treeOf(sandbox)), next);
    assert.equal(fs.statSync(at('dags/sub/c')).ino, ino);
    assert.deepEqual(below(old), { a: '1', b: '1', 'sub/c': '1' }, 'the previous tree stays for its readers');

    await expectTrees(sandbox, ['dags']);
    assert.deepEqual([below(treeOf(sandbox)), takenOver(sandbox)], [next, []]);
    for (const name of ['building', 'staging', 'saved'])
      assert.deepEqual(fs.readdirSync(at(`.sync-agent/${name}`)), []);
  });

  test('is unchanged by a sync that changes nothing in it, also after a restart', async (t) => {
    const { sandbox, at, sync, deliver } = await localSandbox(t);
    const profile = { mappings: [ATOMIC, OTHER] };
    await deliver({ 'dags/a': '1', other: '1' }, profile);
    const tree = treeOf(sandbox);
    await deliver({ other: '2' }, profile);
    assert.equal(fs.readFileSync(at('other'), 'utf8'), '2');
    await sandbox.restart();
    const { plan, isWithoutGit = false } = await sync(profile);
    assert.deepEqual([plan.changes, plan.publications, isWithoutGit, treeOf(sandbox)], [[], [], false, tree]);
  });

  test('has one tree for all mappings at or below it, laid over one another', async (t) => {
    const { sandbox, at, sync, deliver } = await localSandbox(t);
    const files = { 'dags/a': '1', 'dags/b': '1', 'over/b': '2', 'over/c': '2', 'all/dags/d': '3', 'all/e': '3' };
    const mappings = [
      mappingOf('all', '.'),
      ATOMIC,
      mappingOf('over', 'dags', { publish: 'files' }),
      mappingOf('over', 'dags/sub/deep', { publish: 'atomic' }),
    ];
    await deliver(files, { mappings });
    assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '2', c: '2', d: '3', 'sub/deep/b': '2', 'sub/deep/c': '2' });
    assert.deepEqual([fs.readFileSync(at('e'), 'utf8'), treesOf(sandbox).length], ['3', 1]);
    await sync({ mappings: [mappingOf('all', '.')] });
    await sandbox.removeTrees();
    assert.deepEqual(await sandbox.files(), { 'dags/d': '3', e: '3' });
    assert.deepEqual([treesOf(sandbox), takenOver(sandbox)], [[], []]);
  });

  test('below other directories is a relative link, and is removed with its directories', async (t) => {
    const { sandbox, at, sync, deliver } = await localSandbox(t);
    const deep = mappingOf('dags', 'x/y/dags', { publish: 'atomic' });
    await deliver({ 'dags/a': '1', other: '1' }, { mappings: [deep, OTHER] });
    assert.match(fs.readlinkSync(at('x/y/dags')), /^\.\.\/\.\.\/\.sync-agent\/trees\//);
    assert.equal(fs.readFileSync(at('x/y/dags/a'), 'utf8'), '1');
    await sync(other);
    assert.equal(fs.existsSync(at('x')), false);
    await expectTrees(sandbox, []);
  });

  test('can have templates, patches, and excludes', async (t) => {
    const { sandbox, commit, sync, deliver } = await localSandbox(t);
    const patches = [{ file: 'p.json', set: { a: '2' } }];
    const profile = { mappings: [{ ...ATOMIC, template: true, patches }], excludePatterns: ['no'] };
    const first = await commit({
      files: { 'dags/t': '{{ .GatewayName }}', 'dags/p.json': '{"a": 1}', 'dags/no': 'x' },
    });
    await sync(profile);
    await deliver({ 'dags/u': 'u' }, profile);
    await sync(profile, first);
    assert.deepEqual(below(treeOf(sandbox)), { t: 'edge', 'p.json': '{"a": 2}' });
    await expectTrees(sandbox, ['dags']);
  });

  test('keeps unmapped files with prune: false, and those of a missing optional source', slow, async (t) => {
    const { sandbox, sync, deliver } = await localSandbox(t);
    const mappings = [{ ...ATOMIC, required: false }, OTHER];
    await deliver({ 'dags/a': '1', 'dags/b': '1', other: '1' }, { mappings, prune: false });
    const steps = [
      () => deliver({ 'dags/b': null, 'dags/c': '2' }, { mappings, prune: false }),
      () => deliver({ 'dags/a': null, 'dags/c': null, other: '3' }, { mappings }),
      () => sync({ ...other, prune: false }),
    ];
    for (const step of steps) {
      await step();
      assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1', c: '2' });
    }
    await sync(other);
    await sandbox.removeTrees();
    assert.deepEqual([await sandbox.files(), takenOver(sandbox)], [{ other: '3' }, []]);
  });

  test('is compared in inspections', slow, async (t) => {
    const { repo, sandbox, commit, at, sync } = await gitSandbox(t, 'atomic-dry');
    const id = await commit({ files: { 'dags/a': '1' } });
    await sync(atomic);
    fs.writeFileSync(at('dags/a'), 'x');
    const inspect = async () => {
      const { changes } = await sandbox.inspect({ kind: 'drift', commit: id }, { repo, commit: id, profile: atomic });
      return changes.map(({ path: file, reason, before, after }) => [file, reason, before?.text, after?.text]);
    };
    assert.deepEqual(await inspect(), [['dags/a', 'Drifted', '1', 'x']]);
    fs.unlinkSync(at('dags'));
    assert.deepEqual(await inspect(), [
      ['dags', 'Missing', undefined, undefined],
      ['dags/a', 'Drifted', '1', 'x'],
    ]);
  });

  test('must be a directory in the volume, with a directory as its source', async (t) => {
    const { sandbox, commit, sync } = await localSandbox(t);
    await commit({ files: { 'dags/a': '1' } });
    const refused = (mapping: ResolvedProfile['mappings'][number], code: string) =>
      assert.rejects(sync({ mappings: [{ ...mapping, publish: 'atomic' }] }), { code });
    await refused(mappingOf('dags', '.'), 'sync.ProfileInvalid');
    await refused(mappingOf('dags', 'x', { type: 'file' }), 'sync.ProfileInvalid');
    await refused(mappingOf('dags/a', 'x'), 'sync.ProfileInvalid');
    assert.deepEqual(await sandbox.files(), {});
  });

  test('needs a volume with links', async (t) => {
    const { sandbox, sync, deliver } = await localSandbox(t);
    denyLinks(true);
    t.after(() => denyLinks(false));
    await assert.rejects(deliver({ 'dags/a': '1' }, atomic), { code: 'data.noLinks' });
    assert.deepEqual(await sandbox.files(), {});
    await sync(plain);
    assert.deepEqual(await sandbox.files(), { 'dags/a': '1' });
  });

  test('cannot be where the gateway mounts something, or contain the file to touch', async (t) => {
    const { repo, sandbox, commit } = await localSandbox(t);
    const mounted = await localSandbox(t, 'mounted', { mounts: ['dags/cache'] });
    await assert.rejects(mounted.deliver({ 'dags/a': '1' }, atomic), {
      code: 'sync.PathConflict',
      message: /dags\/cache/,
    });
    const reload = { ...reloadSettings({ gateway: undefined }), touchFile: 'dags/touched' };
    const target = { repo, commit: await commit({ files: { 'dags/a': '1' } }), profile: atomic };
    await assert.rejects(sandbox.sync({ ...target, reload }), /touchFile: dags\/touched /);
  });
});

/** A sandbox with a delivered tree. */
async function delivered(
  t: TestContext,
  profile = atomic,
  files: Record<string, string> = { 'dags/a': '1', 'dags/b': '1' },
) {
  const local = await localSandbox(t);
  await local.deliver(files, profile);
  const outside = path.join(local.sandbox.directory, 'outside');
  return { ...local, tree: treeOf(local.sandbox), outside };
}
const NEXT = { 'dags/b': '2', 'dags/n': '2' };

suite('in a tree,', () => {
  test('a file that the gateway changed is written again, and the change is kept', async (t) => {
    const { sandbox, sync, tree } = await delivered(t);
    fs.writeFileSync(path.join(tree, 'a'), 'x');
    const { plan } = await sync(atomic);
    assert.deepEqual(plan.drift, [{ path: 'dags/a', reason: 'Drifted', isRepaired: true }]);
    assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1' });
    assert.equal(fs.readFileSync(path.join(tree, 'a'), 'utf8'), 'x', 'never repaired in place');
    await expectTrees(sandbox, ['dags'], ['x']);
  });

  for (const drift of ['report', 'ignore', 'repair'] as const) {
    test(`a changed and a removed file are written again with the next commit (drift: ${drift})`, async (t) => {
      const profile = { ...atomic, drift };
      const { sandbox, at, sync, deliver, tree } = await delivered(t, profile);
      fs.writeFileSync(path.join(tree, 'a'), 'x');
      if (drift !== 'repair') {
        const { plan } = await sync(profile);
        assert.equal(plan.drift.length, drift === 'report' ? 1 : 0);
        assert.equal(fs.readFileSync(at('dags/a'), 'utf8'), 'x');
      }
      await deliver(NEXT, profile);
      assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '2', n: '2' });
      await expectTrees(sandbox, ['dags'], ['x']);
      fs.chmodSync(treeOf(sandbox), 0o755);
      fs.unlinkSync(path.join(treeOf(sandbox), 'a'));
      await deliver({ 'dags/b': '1', 'dags/n': null }, profile);
      assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1' });
    });
  }

  test('files of the gateway block no sync, and are kept', async (t) => {
    const profile: Partial<ResolvedProfile> = { ...atomic, onConflict: 'refuse' };
    const { sandbox, deliver, tree, outside } = await delivered(t, profile);
    writeInto(tree, '__pycache__/a.pyc', 'compiled');
    writeInto(tree, 'n/directory', 'in the way');
    fs.mkdirSync(outside);
    fs.chmodSync(tree, 0o755);
    fs.symlinkSync(outside, path.join(tree, 'link'));
    fs.writeFileSync(path.join(outside, 'file'), 'outside');
    await deliver(NEXT, profile);
    assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '2', n: '2' });
    await expectTrees(sandbox, ['dags'], ['compiled', 'in the way', 'outside']);
    assert.deepEqual(below(outside), { file: 'outside' });
  });

  for (const drift of ['report', 'repair'] as const) {
    test(`a removed link is drift (${drift})`, async (t) => {
      const profile = { ...atomic, drift };
      const { sandbox, at, sync } = await delivered(t, profile);
      fs.unlinkSync(at('dags'));
      const { plan } = await sync(profile);
      assert.deepEqual(plan.drift, [{ path: 'dags', reason: 'Missing', isRepaired: drift === 'repair' }]);
      assert.equal(fs.existsSync(at('dags/a')), drift === 'repair');
      if (drift === 'repair') return await expectTrees(sandbox, ['dags']);
      await sandbox.removeTrees();
      assert.deepEqual(takenOver(sandbox), []);
    });
  }

  test('a link of others is never replaced', async (t) => {
    const { sandbox, at, sync, deliver } = await localSandbox(t);
    const refusal = { code: 'sync.PathConflict', message: /^dags / };
    fs.symlinkSync('elsewhere', at('dags'));
    await assert.rejects(deliver({ 'dags/a': '1' }, atomic), refusal);
    fs.unlinkSync(at('dags'));
    await sync(atomic);
    fs.unlinkSync(at('dags'));
    fs.writeFileSync(at('dags'), 'theirs');
    await assert.rejects(deliver(NEXT, atomic), refusal);
    assert.deepEqual(await sandbox.files(), { dags: 'theirs' });
  });

  for (const name of ['trees', 'building']) {
    test(`a link in the place of ${name} leads nowhere`, async (t) => {
      const { sandbox, at, deliver, outside } = await delivered(t);
      const own = at(`.sync-agent/${name}`);
      fs.cpSync(own, outside, { recursive: true });
      fs.renameSync(own, `${own}.moved`);
      fs.symlinkSync(outside, own);
      const before = below(outside);
      await assert.rejects(deliver(NEXT, atomic), { code: 'data.agentFolder' });
      await sandbox.removeTrees().catch(() => {});
      assert.deepEqual(below(outside), before);
    });
  }

  test('a link in the place of a directory leads nowhere', async (t) => {
    const { sandbox, deliver, tree, outside } = await delivered(t, atomic, { 'dags/sub/a': '1', 'dags/b': '1' });
    fs.mkdirSync(outside);
    fs.writeFileSync(path.join(outside, 'a'), '1');
    fs.chmodSync(tree, 0o755);
    fs.chmodSync(path.join(tree, 'sub'), 0o755);
    fs.rmSync(path.join(tree, 'sub'), { recursive: true });
    fs.symlinkSync(outside, path.join(tree, 'sub'));
    await deliver({ 'dags/b': '2' }, atomic);
    assert.deepEqual(below(treeOf(sandbox)), { 'sub/a': '1', b: '2' });
    assert.ok(fs.lstatSync(path.join(treeOf(sandbox), 'sub')).isDirectory());
    await sandbox.removeTrees();
    assert.deepEqual(below(outside), { a: '1' });
  });
});

suite('a directory that is there before', () => {
  const FILES = { 'dags/a': '1', 'dags/sub/b': '1', other: '1' };

  test('is kept as a whole, also when it is no longer mapped', async (t) => {
    const { sandbox, at, sync, deliver } = await localSandbox(t);
    fs.mkdirSync(at('dags/x'), { recursive: true });
    fs.writeFileSync(at('dags/a'), 'theirs');
    fs.writeFileSync(at('dags/x/y'), 'theirs, too');
    await assert.rejects(deliver(FILES, { ...atomic, onConflict: 'refuse' }), {
      code: 'sync.PathConflict',
      message: /^dags .* dags\//,
    });
    await sync(atomic);
    assert.deepEqual(below(treeOf(sandbox)), { a: '1', 'sub/b': '1' });
    const kept = { 'dags.kept/a': 'theirs', 'dags.kept/x/y': 'theirs, too' };
    assert.deepEqual(below(at('.sync-agent/taken-over')), kept);
    assert.deepEqual((await sync(other)).takenOver?.names, ['dags.kept']);
    await sandbox.removeTrees();
    assert.deepEqual(await sandbox.files(), { other: '1' });
    assert.deepEqual(below(at('.sync-agent/taken-over')), kept);
  });

  test('with files of the agent becomes a link, and back; nothing is written again', async (t) => {
    const { sandbox, at, sync, deliver } = await localSandbox(t);
    await deliver(FILES, plain);
    const { ino } = fs.statSync(at('dags/sub/b'));
    const dry = await sync({ ...atomic, dryRun: true });
    assert.match(describeSync(dry, []).message ?? '', /^\D*1 .*; .*: dags$/);
    assert.deepEqual((await sync(atomic)).plan.changes, []);
    assert.deepEqual(below(treeOf(sandbox)), { a: '1', 'sub/b': '1' });
    await sandbox.removeTrees();
    assert.deepEqual((await sync(plain)).plan.changes, []);
    assert.ok(fs.lstatSync(at('dags')).isDirectory());
    assert.deepEqual([modeOf(at('dags')), fs.statSync(at('dags/sub/b')).ino], [0o755, ino]);
    await expectTrees(sandbox, []);
    await sync(other);
    assert.deepEqual(fs.readdirSync(sandbox.data).sort(), ['.sync-agent', 'other']);
    assert.deepEqual(takenOver(sandbox), []);
  });

  test('can contain another tree, or be inside one', slow, async (t) => {
    const { sandbox, at, commit, sync } = await localSandbox(t);
    await commit({ files: FILES });
    const inner = { mappings: [mappingOf('dags', 'dags'), mappingOf('dags', 'dags/in', { publish: 'atomic' })] };
    const outer = { mappings: [ATOMIC, mappingOf('dags', 'dags/in')] };
    const all = { a: '1', 'sub/b': '1', 'in/a': '1', 'in/sub/b': '1' };
    for (const profile of [inner, outer, inner, plain, outer, atomic, inner]) {
      await sync(profile);
      const wanted = profile === plain || profile === atomic ? { a: '1', 'sub/b': '1' } : all;
      for (const [file, text] of Object.entries(wanted))
        assert.equal(fs.readFileSync(at(`dags/${file}`), 'utf8'), text);
      await expectTrees(sandbox, profile === plain ? [] : [profile === inner ? 'dags/in' : 'dags']);
    }
    await sync(other);
    await expectTrees(sandbox, []);
    assert.deepEqual(fs.readdirSync(sandbox.data).sort(), ['.sync-agent', 'other']);
  });
});
