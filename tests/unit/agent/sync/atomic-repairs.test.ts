import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import type { Plan } from '../../../../agent/plan/plan-changes.ts';
import { TreeKeeper } from '../../../../agent/sync/tree-keeper.ts';
import type { ResolvedProfile } from '../../../../shared/domain/resolve-profile.ts';
import { codedError } from '../../../support/coded-error.ts';
import { slow } from '../../../support/depth.ts';
import { createLocalRepository } from '../support/local-sandbox.ts';
import { mockCalls } from '../support/mock-calls.ts';
import { createSandbox } from '../support/sandbox.ts';
import { below, mappingOf, ownContents, treeOf, treesOf, writeInto } from '../support/tree-files.ts';

const log = pino({ level: 'silent' });
const atomic: Partial<ResolvedProfile> = { mappings: [mappingOf('dags', 'dags', { publish: 'atomic' })] };
const other: Partial<ResolvedProfile> = { mappings: [mappingOf('other', 'other')] };

async function commits(name: string) {
  const { url: repo, commit } = await createLocalRepository(name);
  const first = await commit({ files: { 'dags/a': '1', 'dags/b': '1', other: '1' } });
  const second = await commit({ files: { 'dags/b': '2' } });
  return { repo, first, second };
}

suite('if the gateway removes the link to a tree,', () => {
  test('the tree is removed after the repair', async (t) => {
    const { repo, first } = await commits('repaired-link');
    const sandbox = await createSandbox(t);
    await sandbox.sync({ repo, commit: first, profile: atomic });
    fs.unlinkSync(path.join(sandbox.data, 'dags'));
    await sandbox.sync({ repo, commit: first, profile: atomic });
    await sandbox.removeTrees();
    assert.deepEqual(treesOf(sandbox), [path.basename(treeOf(sandbox))]);
    assert.deepEqual(ownContents(sandbox, 'taken-over'), []);
  });

  test('the tree is removed when the mapping is', async (t) => {
    const { repo, first } = await commits('repaired-unmapped');
    const sandbox = await createSandbox(t);
    await sandbox.sync({ repo, commit: first, profile: atomic });
    fs.unlinkSync(path.join(sandbox.data, 'dags'));
    await sandbox.sync({ repo, commit: first, profile: other });
    await sandbox.removeTrees();
    assert.deepEqual([treesOf(sandbox), ownContents(sandbox, 'taken-over')], [[], []]);
  });

  test('and creates a directory there, the tree is removed after the repair', async (t) => {
    const { repo, first } = await commits('repaired-directory');
    const sandbox = await createSandbox(t);
    await sandbox.sync({ repo, commit: first, profile: atomic });
    fs.unlinkSync(path.join(sandbox.data, 'dags'));
    fs.mkdirSync(path.join(sandbox.data, 'dags'));
    await sandbox.sync({ repo, commit: first, profile: atomic });
    await sandbox.removeTrees();
    assert.deepEqual(treesOf(sandbox), [path.basename(treeOf(sandbox))]);
  });

  test('and links to an earlier tree, both are removed after the repair', slow, async (t) => {
    const { repo, first, second } = await commits('repaired-redirected');
    const sandbox = await createSandbox(t);
    const link = path.join(sandbox.data, 'dags');
    await sandbox.sync({ repo, commit: first, profile: atomic });
    const earlier = fs.readlinkSync(link);
    await sandbox.sync({ repo, commit: second, profile: atomic });
    fs.unlinkSync(link);
    fs.symlinkSync(earlier, link);
    await sandbox.sync({ repo, commit: second, profile: atomic });
    assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '2' });
    await sandbox.removeTrees();
    assert.deepEqual(treesOf(sandbox), [path.basename(treeOf(sandbox))]);
    assert.deepEqual(ownContents(sandbox, 'taken-over'), []);
  });
});

suite('if a directory of the gateway was replaced, and the gateway creates another one instead of the link,', () => {
  const prepare = async (t: TestContext, name: string) => {
    const { repo, first: commit } = await commits(name);
    const sandbox = await createSandbox(t);
    const link = path.join(sandbox.data, 'dags');
    const write = (file: string, text: string) => {
      fs.mkdirSync(link, { recursive: true });
      fs.writeFileSync(path.join(link, file), text);
    };
    const sync = async (profile: Partial<ResolvedProfile>) => sandbox.sync({ repo, commit, profile });
    return { sandbox, link, write, sync };
  };

  test('the mapping can be removed, and the directory stays', slow, async (t) => {
    const { sandbox, link, write, sync } = await prepare(t, 'replaced-twice');
    write('x', 'theirs');
    await sync(atomic);
    fs.unlinkSync(link);
    write('own', 'new');
    await sync(other);
    await sandbox.removeTrees();
    assert.deepEqual(await sandbox.files(), { 'dags/own': 'new', other: '1' });
    assert.deepEqual([ownContents(sandbox, 'taken-over'), treesOf(sandbox)], [['theirs'], []]);
  });

  test('the first one is restored after a repair', async (t) => {
    const { sandbox, link, write, sync } = await prepare(t, 'replaced-repaired');
    write('x', 'theirs');
    await sync(atomic);
    fs.unlinkSync(link);
    write('own', 'new');
    await sync(atomic);
    await sync(other);
    await sandbox.removeTrees();
    assert.deepEqual(await sandbox.files(), { 'dags/x': 'theirs', other: '1' });
    assert.deepEqual(ownContents(sandbox, 'taken-over'), ['new']);
  });

  test('files that were taken over one by one before are restored', async (t) => {
    const { sandbox, link, write, sync } = await prepare(t, 'replaced-files');
    write('a', 'theirs');
    await sync({ mappings: [mappingOf('dags', 'dags')] });
    await sync(atomic);
    fs.unlinkSync(link);
    write('a', 'newer');
    await sync(atomic);
    await sync(other);
    await sandbox.removeTrees();
    assert.deepEqual(await sandbox.files(), { 'dags/a': 'theirs', other: '1' });
    assert.deepEqual([ownContents(sandbox, 'taken-over'), treesOf(sandbox)], [['newer'], []]);
  });
});

test('a foreign link in the place of a file of the agent is named when the path becomes atomic', async (t) => {
  const { repo, first: commit } = await commits('replaced-file');
  const sandbox = await createSandbox(t);
  await sandbox.sync({ repo, commit, profile: { mappings: [mappingOf('other', 'dags')] } });
  fs.unlinkSync(path.join(sandbox.data, 'dags'));
  fs.symlinkSync('elsewhere', path.join(sandbox.data, 'dags'));
  await assert.rejects(
    sandbox.sync({ repo, commit, profile: atomic }),
    /dags is a file or a symbolic link .*remove it/,
  );
  fs.unlinkSync(path.join(sandbox.data, 'dags'));
  await sandbox.sync({ repo, commit, profile: { mappings: [mappingOf('other', 'dags')] } });
  await sandbox.sync({ repo, commit, profile: atomic });
  assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1' });
});

test('a failing file keeps readers from seeing a tree that is withdrawn', async (t) => {
  const { url: repo, commit } = await createLocalRepository('exchanged-last');
  const first = await commit({ files: { 'dags/a': '1', f: '1' } });
  const second = await commit({ files: { 'dags/a': '2', f: '2' } });
  const sandbox = await createSandbox(t);
  const profile = { mappings: [mappingOf('dags', 'dags', { publish: 'atomic' }), mappingOf('f', 'f')] };
  await sandbox.sync({ repo, commit: first, profile });
  const link = path.join(sandbox.data, 'dags');
  const { ino } = fs.lstatSync(link);
  const end = mockCalls(t, ['renameSync'], (_, args, real) => {
    if (String(args[1]).endsWith('/f')) throw codedError('EIO', 'broken');
    return real(...args);
  });
  await assert.rejects(sandbox.sync({ repo, commit: second, profile }), /broken/);
  end();
  assert.equal(fs.lstatSync(link).ino, ino, 'the link was never replaced');
  await sandbox.sync({ repo, commit: second, profile });
  assert.deepEqual(below(treeOf(sandbox)), { a: '2' });
});

test('a tree that readers have seen before its sync was undone stays like a previous one', async (t) => {
  const { url: repo, commit } = await createLocalRepository('undone-tree');
  const first = await commit({ files: { 'dags/a': '1', 'dags/same': '1', 'x/b': '1' } });
  const second = await commit({ files: { 'dags/a': '2', 'x/b': '2' } });
  const sandbox = await createSandbox(t);
  const profile = { mappings: ['dags', 'x'].map((path) => mappingOf(path, path, { publish: 'atomic' })) };
  await sandbox.sync({ repo, commit: first, profile });
  const earlier = treeOf(sandbox);
  let seen = '';
  const end = mockCalls(t, ['renameSync'], (_, args, real) => {
    if (!String(args[1]).endsWith('/x')) return real(...args);
    seen = treeOf(sandbox);
    throw codedError('EIO', 'broken');
  });
  await assert.rejects(sandbox.sync({ repo, commit: second, profile }), /broken/);
  end();
  assert.equal(treeOf(sandbox), earlier);
  assert.deepEqual(below(seen), { a: '2', same: '1' }, 'a reader can finish');
  writeInto(seen, 'cache', 'written');
  const waiting = { root: sandbox.root, lock: { isHeld: true }, gateway: { isPending: true }, log };
  const keeper = new TreeKeeper(waiting as never, 0);
  await keeper.onSyncEnd();
  await keeper.run(t.signal);
  assert.deepEqual(below(seen), { a: '2', same: '1', cache: 'written' }, 'the gateway was not notified');
  await sandbox.sync({ repo, commit: second, profile });
  assert.deepEqual(below(treeOf(sandbox)), { a: '2', same: '1' });
  await sandbox.removeTrees();
  assert.deepEqual(treesOf(sandbox).sort(), ['dags', 'x'].map((each) => path.basename(treeOf(sandbox, each))).sort());
  assert.deepEqual(ownContents(sandbox, 'taken-over'), ['written']);
});

test('a tree that was undone leaves no file of the agent if its destination is unmapped before its removal', async (t) => {
  const { url: repo, commit } = await createLocalRepository('undone-unmapped');
  const first = await commit({ files: { 'dags/a': '1', 'dags/same': '1', 'x/b': '1' } });
  const second = await commit({ files: { 'dags/a': '2', 'x/b': '2' } });
  const sandbox = await createSandbox(t);
  const exchanged = mappingOf('x', 'x', { publish: 'atomic' });
  await sandbox.sync({ repo, commit: first, profile: { mappings: [mappingOf('dags', 'dags'), exchanged] } });
  const end = mockCalls(t, ['renameSync'], (_, args, real) => {
    if (String(args[1]).endsWith('/x')) throw codedError('EIO', 'broken');
    return real(...args);
  });
  const both = { mappings: [mappingOf('dags', 'dags', { publish: 'atomic' }), exchanged] };
  await assert.rejects(sandbox.sync({ repo, commit: second, profile: both }), /broken/);
  end();
  await sandbox.sync({ repo, commit: second, profile: { mappings: [exchanged] } });
  await sandbox.removeTrees();
  assert.deepEqual(treesOf(sandbox), [path.basename(treeOf(sandbox, 'x'))]);
  assert.deepEqual(ownContents(sandbox, 'taken-over'), []);
});

test('a file that replaces a staged one never gets into a tree', async (t) => {
  const { repo, first, second } = await commits('replaced-staged');
  const sandbox = await createSandbox(t);
  await sandbox.sync({ repo, commit: first, profile: atomic });
  const end = mockCalls(t, ['linkSync'], (_, args, real) => {
    const staged = path.join(sandbox.data, '.sync-agent/staging/0');
    if (String(args[0]).endsWith('/0') && fs.existsSync(staged)) {
      fs.unlinkSync(staged);
      fs.writeFileSync(staged, 'old');
    }
    return real(...args);
  });
  await assert.rejects(sandbox.sync({ repo, commit: second, profile: atomic }), /dags\/b changed during the sync/);
  end();
  assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1' });
  await sandbox.sync({ repo, commit: second, profile: atomic });
  assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '2' });
});

test('a file that replaces the link while the new tree is moved stays', async (t) => {
  const { repo, first, second } = await commits('exchanged-race');
  const sandbox = await createSandbox(t);
  await sandbox.sync({ repo, commit: first, profile: atomic });
  const link = path.join(sandbox.data, 'dags');
  const end = mockCalls(t, ['symlinkSync'], (_, args, real) => {
    if (String(args[0]).includes('.sync-agent/trees/')) {
      fs.unlinkSync(link);
      fs.writeFileSync(link, 'theirs');
    }
    return real(...args);
  });
  await assert.rejects(sandbox.sync({ repo, commit: second, profile: atomic }), /dags changed during the sync/);
  end();
  assert.equal(fs.readFileSync(link, 'utf8'), 'theirs');
});

test('an atomic destination that contains a mount can be unmapped', async (t) => {
  const { repo, first: commit } = await commits('unmapped-mount');
  const mounts: string[] = [];
  const sandbox = await createSandbox(t, { mounts });
  await sandbox.sync({ repo, commit, profile: atomic });
  mounts.push('dags/cache');
  await sandbox.restart();
  await sandbox.sync({ repo, commit, profile: other });
  assert.deepEqual(await sandbox.files(), { other: '1' });
});

suite('a dry run lists the same changes as a sync if', () => {
  for (const drift of ['ignore', 'report'] as const) {
    test(`a file in a tree was changed (drift: ${drift})`, async (t) => {
      const { repo, first, second } = await commits(`dry-drift-${drift}`);
      const sandbox = await createSandbox(t);
      const profile = { ...atomic, drift };
      await sandbox.sync({ repo, commit: first, profile });
      fs.writeFileSync(path.join(treeOf(sandbox), 'a'), 'x');
      const dry = await sandbox.sync({ repo, commit: second, profile: { ...profile, dryRun: true } });
      const { plan } = await sandbox.sync({ repo, commit: second, profile });
      assert.deepEqual(pathsOf(dry.plan), ['dags/a', 'dags/b']);
      assert.deepEqual(pathsOf(plan), ['dags/a', 'dags/b']);
      assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '2' });
    });
  }

  test('publish: atomic is added while a file differs', async (t) => {
    const { repo, first: commit } = await commits('dry-added');
    const sandbox = await createSandbox(t);
    await sandbox.sync({ repo, commit, profile: { mappings: [mappingOf('dags', 'dags')] } });
    fs.writeFileSync(path.join(sandbox.data, 'dags/a'), 'x');
    const profile = { ...atomic, drift: 'ignore' as const };
    const dry = await sandbox.sync({ repo, commit, profile: { ...profile, dryRun: true } });
    const { plan } = await sandbox.sync({ repo, commit, profile });
    assert.deepEqual([pathsOf(dry.plan), pathsOf(plan)], [['dags/a'], ['dags/a']]);
    await sandbox.removeTrees();
    assert.deepEqual(ownContents(sandbox, 'taken-over'), ['x']);
  });
});

const pathsOf = ({ changes }: Plan): string[] => changes.map((change) => change.path).sort();

test('a tree that is no longer mapped needs no git after a restart with prune: false', async (t) => {
  const { repo, first: commit } = await commits('unmapped-restart');
  const sandbox = await createSandbox(t);
  const profile = { ...other, prune: false };
  await sandbox.sync({ repo, commit, profile: { ...atomic, prune: false } });
  await sandbox.sync({ repo, commit, profile });
  fs.rmSync(sandbox.repo, { recursive: true });
  fs.mkdirSync(sandbox.repo);
  await sandbox.restart();
  const { isWithoutGit } = await sandbox.sync({ repo, commit, profile });
  assert.equal(isWithoutGit, true);
  assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1' });
});
