import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import type { ResolvedProfile } from '../../../../shared/domain/resolve-profile.ts';
import { actAt } from '../support/kill-at.ts';
import { createLocalRepository } from '../support/local-sandbox.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import { below, mappingOf, ownContents, treeOf, treesOf, writeInto } from '../support/tree-files.ts';

const atomic: Partial<ResolvedProfile> = { mappings: [mappingOf('dags', 'dags', { publish: 'atomic' })] };

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

async function prepared(t: TestContext, name: string) {
  const { url: repo, commit } = await createLocalRepository(`spare-${name}`);
  const first = await commit({ files: { ...FILES, other: '1' } });
  const sandbox = await createSandbox(t);
  const sync = async (id: string, profile = atomic) => await sandbox.sync({ repo, commit: id, profile });
  await sync(first);
  await sandbox.prepareTrees();
  return { sandbox, sync, commit, first };
}

suite('a tree that was prepared', () => {
  test('is published with the changes of the next commit', async (t) => {
    const { sandbox, sync, commit, first } = await prepared(t, 'published');
    const [spare] = building(sandbox).keys();
    const unchanged = inodeOf(sandbox, 'dags/sub/c');
    // A file becomes a directory, and the other way round.
    const changes = { 'dags/a': '2', 'dags/b': null, 'dags/old/deep/d': null, 'dags/new/e': '2' };
    const swaps = { 'dags/x': null, 'dags/x/in': '2', 'dags/y/z': null, 'dags/y': '2' };
    await sync(await commit({ files: { ...changes, ...swaps } }));
    assert.equal(inodeOf(sandbox, 'dags'), spare);
    assert.deepEqual(below(treeOf(sandbox)), { a: '2', 'new/e': '2', 'sub/c': '1', 'x/in': '2', y: '2' });
    assert.deepEqual(fs.readdirSync(treeOf(sandbox)).sort(), ['a', 'new', 'sub', 'x', 'y']);
    assert.equal(inodeOf(sandbox, 'dags/sub/c'), unchanged);
    for (const directory of ['dags', 'dags/new', 'dags/sub', 'dags/x'])
      assert.equal(fs.statSync(path.join(sandbox.data, directory)).mode & 0o777, 0o555, directory);
    await sandbox.removeTrees();
    assert.deepEqual([treesOf(sandbox).length, ownContents(sandbox, 'taken-over')], [1, []]);
    await sandbox.prepareTrees();
    await sync(first);
    const files = Object.entries(FILES).map(([file, text]) => [file.slice('dags/'.length), text]);
    assert.deepEqual(below(treeOf(sandbox)), Object.fromEntries(files.sort()));
    assert.equal(building(sandbox).size, 0);
  });

  for (const drift of ['repair', 'ignore'] as const) {
    test(`has no file that the gateway has changed since (drift: ${drift})`, async (t) => {
      const { sandbox, sync, commit } = await prepared(t, `drift-${drift}`);
      const tree = treeOf(sandbox);
      const replace = (file: string, text: string) => {
        fs.unlinkSync(path.join(tree, file));
        fs.writeFileSync(path.join(tree, file), text);
      };
      fs.writeFileSync(path.join(tree, 'a'), 'in place');
      replace('b', 'replaced');
      fs.unlinkSync(path.join(tree, 'x'));
      writeInto(tree, 'own', 'theirs');
      await sync(await commit({ files: { 'dags/sub/c': '2' } }), { ...atomic, drift });
      assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '1', 'old/deep/d': '1', 'sub/c': '2', x: '1', 'y/z': '1' });
      await sandbox.prepareTrees();
      await sandbox.removeTrees();
      assert.deepEqual(ownContents(sandbox, 'taken-over'), ['in place', 'replaced', 'theirs']);
    });
  }

  test('has changed files that are no longer mapped, but stay', async (t) => {
    const { sandbox, sync, commit } = await prepared(t, 'retained');
    const kept = { ...atomic, prune: false };
    await sync(await commit({ files: { 'dags/a': null, 'dags/b': null } }), kept);
    await sandbox.prepareTrees();
    fs.writeFileSync(path.join(treeOf(sandbox), 'a'), 'in place');
    fs.unlinkSync(path.join(treeOf(sandbox), 'b'));
    fs.writeFileSync(path.join(treeOf(sandbox), 'b'), 'replaced');
    await sync(await commit({ files: { 'dags/x': '2' } }), kept);
    const { a, b, x } = below(treeOf(sandbox));
    assert.deepEqual([a, b, x], ['in place', 'replaced', '2']);
  });

  test('can be incomplete', async (t) => {
    const { url: repo, commit } = await createLocalRepository('spare-incomplete');
    const ids = [await commit({ files: FILES }), await commit({ files: { 'dags/a': '2' } })];
    const sandbox = await createSandbox(t);
    await sandbox.sync({ repo, commit: ids[0] ?? '', profile: atomic });
    const stopping = new AbortController();
    const played = actAt(sandbox.data, 9, () => stopping.abort(), { from: /\/spare-/ });
    await sandbox.prepareTrees(stopping.signal);
    played.end();
    const [spare = ''] = building(sandbox).values();
    const count = Object.keys(below(path.join(sandbox.data, '.sync-agent/building', spare))).length;
    assert.ok(count > 0 && count < Object.keys(FILES).length, `${count} files`);
    await sandbox.sync({ repo, commit: ids[1] ?? '', profile: atomic });
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
    const { sandbox, sync, first } = await prepared(t, 'unneeded');
    fs.unlinkSync(path.join(sandbox.data, 'dags/a'));
    await sync(first, { mappings: [mappingOf('other', 'other')] });
    await sandbox.removeTrees();
    await sandbox.prepareTrees();
    assert.deepEqual([treesOf(sandbox), building(sandbox).size, ownContents(sandbox, 'taken-over')], [[], 0, []]);
  });

  test('is prepared again after a restart', async (t) => {
    const { sandbox, sync, commit } = await prepared(t, 'restarted');
    await sandbox.restart();
    await sync(await commit({ files: { 'dags/a': '2' } }));
    await sandbox.prepareTrees();
    const names = [...building(sandbox).values()];
    assert.deepEqual(
      names.map((name) => name.endsWith(path.basename(treeOf(sandbox)))),
      [true],
    );
  });
});
