import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { TreeKeeper } from '../../../../agent/sync/tree-keeper.ts';
import { codedError } from '../../../support/coded-error.ts';
import { slow } from '../../../support/depth.ts';
import { pathsOf } from '../support/changes-of.ts';
import type { Profile } from '../support/git-sandbox.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { mockCalls } from '../support/mock-calls.ts';
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

const log = pino({ level: 'silent' });
const FILES = { 'dags/a': '1', 'dags/b': '1', other: '1' };

/** A sandbox in which a commit was delivered. */
async function delivered(t: TestContext, profile: Profile, files: Record<string, string> = FILES) {
  const local = await localSandbox(t);
  await local.deliver(files, profile);
  return { ...local, link: local.at('dags') };
}

/** Makes each move to a path fail. */
const failMoves = (t: TestContext, to: string, act = () => {}) =>
  mockCalls(t, ['renameSync'], (_, args, real) => {
    if (!String(args[1]).endsWith(to)) return real(...args);
    act();
    throw codedError('EIO', 'broken');
  });

suite('if the gateway removes the link to a tree,', () => {
  test('the tree is removed when the mapping is', async (t) => {
    const { sandbox, link, sync } = await delivered(t, atomic);
    fs.unlinkSync(link);
    await sync(other);
    await expectTrees(sandbox, []);
  });

  test('and creates a directory there, the tree is removed after the repair', async (t) => {
    const { sandbox, link, sync } = await delivered(t, atomic);
    fs.unlinkSync(link);
    fs.mkdirSync(link);
    await sync(atomic);
    await expectTrees(sandbox, ['dags']);
  });

  test('and links to an earlier tree, that stays until the repair, which removes both', async (t) => {
    const { sandbox, link, sync, deliver } = await delivered(t, atomic);
    const earlier = fs.readlinkSync(link);
    await deliver({ 'dags/b': '2' }, atomic);
    fs.unlinkSync(link);
    fs.symlinkSync(earlier, link);
    await sandbox.removeTrees();
    assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1' });
    await sync(atomic);
    assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '2' });
    await expectTrees(sandbox, ['dags']);
  });
});

suite('if a directory of the gateway was replaced, and the gateway creates another one instead of the link,', () => {
  const prepare = async (t: TestContext, { name, before }: { name: string; before: Profile[] }) => {
    const { sandbox, at, commit, sync } = await localSandbox(t);
    await commit({ files: FILES });
    fs.mkdirSync(at('dags'));
    fs.writeFileSync(at(`dags/${name}`), 'theirs');
    for (const profile of before) await sync(profile);
    fs.unlinkSync(at('dags'));
    fs.mkdirSync(at('dags'));
    fs.writeFileSync(at(`dags/${name}`), 'new');
    return { sandbox, sync };
  };

  test('the mapping can be removed, and the directory stays', slow, async (t) => {
    const { sandbox, sync } = await prepare(t, { name: 'own', before: [atomic] });
    await sync(other);
    await sandbox.removeTrees();
    assert.deepEqual(await sandbox.files(), { 'dags/own': 'new', other: '1' });
    assert.deepEqual([takenOver(sandbox), treesOf(sandbox)], [['theirs'], []]);
  });

  for (const [what, name, before] of [
    ['both are kept', 'own', [atomic]],
    ['it is kept next to files that were taken over one by one before', 'a', [plain, atomic]],
  ] as const) {
    test(`${what} after a repair`, async (t) => {
      const { sandbox, sync } = await prepare(t, { name, before: [...before] });
      await sync(atomic);
      await sync(other);
      await sandbox.removeTrees();
      assert.deepEqual(await sandbox.files(), { other: '1' });
      assert.deepEqual([takenOver(sandbox), treesOf(sandbox)], [['new', 'theirs'], []]);
    });
  }
});

test('a foreign link in the place of a file of the agent is named when the path becomes atomic', async (t) => {
  const file = { mappings: [mappingOf('other', 'dags')] };
  const { sandbox, link, sync } = await delivered(t, file);
  fs.unlinkSync(link);
  fs.symlinkSync('elsewhere', link);
  await assert.rejects(sync(atomic), { code: 'sync.PathConflict', message: /^dags / });
  fs.unlinkSync(link);
  await sync(file);
  await sync(atomic);
  assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1' });
});

suite('if a sync fails,', () => {
  const exchanged = mappingOf('x', 'x', { publish: 'atomic' });
  const before = { 'dags/a': '1', 'dags/same': '1', 'x/b': '1' };
  const next = { 'dags/a': '2', 'x/b': '2' };

  test('no reader sees a tree that is withdrawn because of a single file', async (t) => {
    const profile = { mappings: [mappingOf('dags', 'dags', { publish: 'atomic' }), mappingOf('f', 'f')] };
    const { sandbox, link, sync, deliver } = await delivered(t, profile, { 'dags/a': '1', f: '1' });
    const { ino } = fs.lstatSync(link);
    const end = failMoves(t, '/f');
    await assert.rejects(deliver({ 'dags/a': '2', f: '2' }, profile), /broken/);
    end();
    assert.equal(fs.lstatSync(link).ino, ino, 'the link was never replaced');
    await sync(profile);
    assert.deepEqual(below(treeOf(sandbox)), { a: '2' });
  });

  test('a tree that readers have seen before stays like a previous one', async (t) => {
    const profile = { mappings: [mappingOf('dags', 'dags', { publish: 'atomic' }), exchanged] };
    const { sandbox, sync, deliver } = await delivered(t, profile, before);
    const earlier = treeOf(sandbox);
    let seen = '';
    const end = failMoves(t, '/x', () => {
      seen = treeOf(sandbox);
    });
    await assert.rejects(deliver(next, profile), /broken/);
    end();
    assert.equal(treeOf(sandbox), earlier);
    assert.deepEqual(below(seen), { a: '2', same: '1' }, 'a reader can finish');
    writeInto(seen, 'cache', 'written');
    const waiting = { root: sandbox.root, lock: { isHeld: () => true }, gateway: { isPending: true }, log };
    const keeper = new TreeKeeper(waiting as never, 0);
    await keeper.onSyncEnd();
    await keeper.run(t.signal);
    assert.deepEqual(below(seen), { a: '2', same: '1', cache: 'written' }, 'the gateway was not notified');
    await sync(profile);
    assert.deepEqual(below(treeOf(sandbox)), { a: '2', same: '1' });
    await sandbox.removeTrees();
    assert.deepEqual(treesOf(sandbox).sort(), ['dags', 'x'].map((each) => path.basename(treeOf(sandbox, each))).sort());
    assert.deepEqual(takenOver(sandbox), ['written']);
  });

  test('its tree leaves no file of the agent when its destination is unmapped before its removal', async (t) => {
    const profile = { mappings: [mappingOf('dags', 'dags'), exchanged] };
    const { sandbox, sync, deliver } = await delivered(t, profile, before);
    const end = failMoves(t, '/x');
    const both = { mappings: [mappingOf('dags', 'dags', { publish: 'atomic' }), exchanged] };
    await assert.rejects(deliver(next, both), /broken/);
    end();
    await sync({ mappings: [exchanged] });
    await sandbox.removeTrees();
    assert.deepEqual(treesOf(sandbox), [path.basename(treeOf(sandbox, 'x'))]);
    assert.deepEqual(takenOver(sandbox), []);
  });
});

test('a file that replaces a staged one never gets into a tree', async (t) => {
  const { sandbox, at, sync, deliver } = await delivered(t, atomic);
  const staged = at('.sync-agent/staging/0');
  const end = mockCalls(t, ['linkSync'], (_, args, real) => {
    if (String(args[0]).endsWith('/0') && fs.existsSync(staged)) {
      fs.unlinkSync(staged);
      fs.writeFileSync(staged, 'old');
    }
    return real(...args);
  });
  await assert.rejects(deliver({ 'dags/b': '2' }, atomic), { code: 'data.changed' });
  end();
  assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1' });
  await sync(atomic);
  assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '2' });
});

test('a file that replaces the link while the new tree is moved stays', async (t) => {
  const { link, deliver } = await delivered(t, atomic);
  const end = mockCalls(t, ['symlinkSync'], (_, args, real) => {
    if (String(args[0]).includes('.sync-agent/trees/')) {
      fs.unlinkSync(link);
      fs.writeFileSync(link, 'theirs');
    }
    return real(...args);
  });
  await assert.rejects(deliver({ 'dags/b': '2' }, atomic), { code: 'data.changed' });
  end();
  assert.equal(fs.readFileSync(link, 'utf8'), 'theirs');
});

test('an atomic destination that contains a mount can be unmapped', async (t) => {
  const mounts: string[] = [];
  const { sandbox, sync, deliver } = await localSandbox(t, 'mount', { mounts });
  await deliver(FILES, atomic);
  mounts.push('dags/cache');
  await sandbox.restart();
  await sync(other);
  assert.deepEqual(await sandbox.files(), { other: '1' });
});

suite('a dry run lists the same changes as a sync if', () => {
  for (const [what, first, drift] of [
    ['a file in a tree was changed (drift: ignore)', atomic, 'ignore'],
    ['a file in a tree was changed (drift: report)', atomic, 'report'],
    ['publish: atomic is added while a file differs', plain, 'ignore'],
  ] as const) {
    test(what, async (t) => {
      const { sandbox, at, commit, sync } = await delivered(t, { ...first, drift });
      fs.writeFileSync(at('dags/a'), 'x');
      await commit({ files: { 'dags/b': '2' } });
      const dry = await sync({ ...atomic, drift, dryRun: true });
      const { plan } = await sync({ ...atomic, drift });
      for (const each of [dry.plan, plan]) assert.deepEqual(pathsOf(each), ['dags/a', 'dags/b']);
      assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '2' });
      await expectTrees(sandbox, ['dags'], ['x']);
    });
  }
});

test('a tree that is no longer mapped needs no git after a restart with prune: false', async (t) => {
  const { sandbox, sync } = await delivered(t, { ...atomic, prune: false });
  const profile = { ...other, prune: false };
  await sync(profile);
  fs.rmSync(sandbox.repo, { recursive: true });
  fs.mkdirSync(sandbox.repo);
  await sandbox.restart();
  assert.equal((await sync(profile)).isWithoutGit, true);
  assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1' });
});
