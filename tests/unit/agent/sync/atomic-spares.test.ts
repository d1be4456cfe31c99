import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { actAt } from '../support/kill-at.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { atomic, below, expectTrees, other, takenOver, treeOf, treesOf, writeInto } from '../support/tree-files.ts';

const FILES = {
  'dags/a': '1',
  'dags/b': '1',
  'dags/sub/c': '1',
  'dags/old/deep/d': '1',
  'dags/x': '1',
  'dags/y/z': '1',
};

/** Inodes and names of the directories in `building`. */
const building = ({ data }: Sandbox): Map<number, string> => {
  const own = path.join(data, '.sync-agent/building');
  return new Map(fs.readdirSync(own).map((name) => [fs.statSync(path.join(own, name)).ino, name]));
};

const inodeOf = ({ data }: Sandbox, file: string) => fs.statSync(path.join(data, file)).ino;

async function prepared(t: TestContext) {
  const local = await localSandbox(t);
  const first = await local.commit({ files: { ...FILES, other: '1' } });
  await local.sync(atomic);
  await local.sandbox.prepareTrees();
  return { ...local, first };
}

suite('a tree that was prepared', () => {
  test('is published with the changes of the next commit', async (t) => {
    const { sandbox, sync, deliver, first } = await prepared(t);
    const [spare] = building(sandbox).keys();
    const unchanged = inodeOf(sandbox, 'dags/sub/c');
    // A file becomes a directory, and the other way round.
    const changes = { 'dags/a': '2', 'dags/b': null, 'dags/old/deep/d': null, 'dags/new/e': '2' };
    const swaps = { 'dags/x': null, 'dags/x/in': '2', 'dags/y/z': null, 'dags/y': '2' };
    await deliver({ ...changes, ...swaps }, atomic);
    assert.equal(inodeOf(sandbox, 'dags'), spare);
    assert.deepEqual(below(treeOf(sandbox)), { a: '2', 'new/e': '2', 'sub/c': '1', 'x/in': '2', y: '2' });
    assert.deepEqual(fs.readdirSync(treeOf(sandbox)).sort(), ['a', 'new', 'sub', 'x', 'y']);
    assert.equal(inodeOf(sandbox, 'dags/sub/c'), unchanged);
    for (const directory of ['dags', 'dags/new', 'dags/sub', 'dags/x'])
      assert.equal(fs.statSync(path.join(sandbox.data, directory)).mode & 0o777, 0o555, directory);
    await expectTrees(sandbox, ['dags']);
    await sandbox.prepareTrees();
    await sync(atomic, first);
    const files = Object.entries(FILES).map(([file, text]) => [file.slice('dags/'.length), text]);
    assert.deepEqual(below(treeOf(sandbox)), Object.fromEntries(files.sort()));
    assert.equal(building(sandbox).size, 0);
  });

  for (const drift of ['repair', 'ignore'] as const) {
    test(`has no file that the gateway has changed since (drift: ${drift})`, async (t) => {
      const { sandbox, deliver } = await prepared(t);
      const tree = treeOf(sandbox);
      const replace = (file: string, text: string) => {
        fs.unlinkSync(path.join(tree, file));
        fs.writeFileSync(path.join(tree, file), text);
      };
      fs.writeFileSync(path.join(tree, 'a'), 'in place');
      replace('b', 'replaced');
      fs.unlinkSync(path.join(tree, 'x'));
      writeInto(tree, 'own', 'theirs');
      await deliver({ 'dags/sub/c': '2' }, { ...atomic, drift });
      assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1', 'old/deep/d': '1', 'sub/c': '2', x: '1', 'y/z': '1' });
      await sandbox.prepareTrees();
      await expectTrees(sandbox, ['dags'], ['in place', 'replaced', 'theirs']);
    });
  }

  test('has changed files that are no longer mapped, but stay', async (t) => {
    const { sandbox, deliver } = await prepared(t);
    const kept = { ...atomic, prune: false };
    await deliver({ 'dags/a': null, 'dags/b': null }, kept);
    await sandbox.prepareTrees();
    fs.writeFileSync(path.join(treeOf(sandbox), 'a'), 'in place');
    fs.unlinkSync(path.join(treeOf(sandbox), 'b'));
    fs.writeFileSync(path.join(treeOf(sandbox), 'b'), 'replaced');
    await deliver({ 'dags/x': '2' }, kept);
    const { a, b, x } = below(treeOf(sandbox));
    assert.deepEqual([a, b, x], ['in place', 'replaced', '2']);
  });

  test('can be incomplete', async (t) => {
    const { commit, sandbox, sync } = await localSandbox(t);
    const ids = [await commit({ files: FILES }), await commit({ files: { 'dags/a': '2' } })];
    await sync(atomic, ids[0] ?? '');
    const stopping = new AbortController();
    const played = actAt(sandbox.data, 9, () => stopping.abort(), { from: /\/spare-/ });
    await sandbox.prepareTrees(stopping.signal);
    played.end();
    const [spare = ''] = building(sandbox).values();
    const count = Object.keys(below(path.join(sandbox.data, '.sync-agent/building', spare))).length;
    assert.ok(count > 0 && count < Object.keys(FILES).length, `${count} files`);
    await sync(atomic, ids[1] ?? '');
    assert.deepEqual(below(treeOf(sandbox)), {
      a: '2',
      b: '1',
      'old/deep/d': '1',
      'sub/c': '1',
      x: '1',
      'y/z': '1',
    });
  });

  test("is removed once it isn't needed", async (t) => {
    const { sandbox, sync, first } = await prepared(t);
    fs.unlinkSync(path.join(sandbox.data, 'dags/a'));
    await sync(other, first);
    await sandbox.removeTrees();
    await sandbox.prepareTrees();
    assert.deepEqual([treesOf(sandbox), building(sandbox).size, takenOver(sandbox)], [[], 0, []]);
  });

  test('is prepared again after a restart', async (t) => {
    const { sandbox, deliver } = await prepared(t);
    await sandbox.restart();
    await deliver({ 'dags/a': '2' }, atomic);
    await sandbox.prepareTrees();
    const names = [...building(sandbox).values()];
    assert.deepEqual(
      names.map((name) => name.endsWith(path.basename(treeOf(sandbox)))),
      [true],
    );
  });
});
