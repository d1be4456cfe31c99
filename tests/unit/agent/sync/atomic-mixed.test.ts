import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { localSandbox } from '../support/local-sandbox.ts';
import { atomic, below, mappingOf, other, plain, takenOver, treeOf } from '../support/tree-files.ts';

/** A volume with files of the gateway, and a commit. */
async function prepare(t: TestContext, theirs: Record<string, string>) {
  const local = await localSandbox(t);
  await local.commit({ files: { 'dags/a': '1', 'dags/sub/b': '1', other: '1' } });
  const write = (files: Record<string, string>) => {
    for (const [file, text] of Object.entries(files)) {
      fs.mkdirSync(path.dirname(local.at(file)), { recursive: true });
      fs.writeFileSync(local.at(file), text);
    }
  };
  write(theirs);
  return { ...local, write };
}

suite('a directory with files of the agent and of the gateway', () => {
  test('is never replaced by a link; five of the other entries are named', async (t) => {
    const theirs = { 'dags/uploads/photo': 'p', 'dags/sub/own': 'o', 'dags/1': '1', 'dags/2': '2', 'dags/3': '3' };
    const { sandbox, write, sync } = await prepare(t, theirs);
    await sync(plain);
    const before = await sandbox.files();
    for (const dryRun of [true, false]) {
      const { code, message } = await sync({ ...atomic, dryRun }).catch((each) => each);
      assert.equal(code, 'sync.PathConflict');
      for (const entry of ['dags/uploads', 'dags/sub/own', 'dags/1', 'dags/2', 'dags/3'])
        assert.ok(message.includes(entry), entry);
      assert.doesNotMatch(message, /photo|and more/);
    }
    write({ 'dags/4': '4' });
    await assert.rejects(sync(atomic), /, and more\. /);
    assert.deepEqual(await sandbox.files(), { ...before, 'dags/4': '4' });
    await sync(other);
    assert.deepEqual(await sandbox.files(), { ...theirs, 'dags/4': '4', other: '1' });
  });

  test('is replaced once the other entries were moved', async (t) => {
    const { sandbox, at, sync } = await prepare(t, { 'dags/sub/own': 'theirs' });
    await sync(plain);
    await assert.rejects(sync(atomic), { code: 'sync.PathConflict', message: /: dags\/sub\/own\. / });
    fs.renameSync(at('dags/sub/own'), at('own'));
    await sync(atomic);
    assert.deepEqual([below(treeOf(sandbox)), takenOver(sandbox)], [{ a: '1', 'sub/b': '1' }, []]);
  });

  test('is never replaced if one of its links to a tree became a directory of the gateway', async (t) => {
    const { at, write, sync } = await prepare(t, {});
    await sync({ mappings: [mappingOf('dags', 'dags'), mappingOf('dags', 'dags/in', { publish: 'atomic' })] });
    fs.unlinkSync(at('dags/in'));
    write({ 'dags/in/a': 'theirs' });
    await assert.rejects(sync(atomic), { code: 'sync.PathConflict', message: /: dags\/in\. / });
    assert.equal(fs.readFileSync(at('dags/in/a'), 'utf8'), 'theirs');
  });
});

suite('files that the agent found with the right content', () => {
  const files = { 'dags/a': '1', 'dags/sub/b': '1' };

  test('keep a destination from becoming atomic with onConflict: refuse', async (t) => {
    const { sandbox, sync } = await prepare(t, files);
    const onConflict = 'refuse' as const;
    await sync({ ...plain, onConflict });
    await assert.rejects(sync({ ...atomic, onConflict }), { code: 'sync.PathConflict', message: / dags\// });
    await sync({ ...other, onConflict });
    assert.deepEqual(await sandbox.files(), { ...files, other: '1' });
  });

  for (const prune of [true, false]) {
    test(`are kept with their directory (prune: ${prune})`, async (t) => {
      const { sandbox, at, sync } = await prepare(t, { ...files, 'dags/own': 'theirs' });
      const { ino } = fs.statSync(at('dags/a'));
      await sync({ ...plain, prune });
      await sync({ ...atomic, prune });
      assert.deepEqual(below(treeOf(sandbox)), { a: '1', 'sub/b': '1' });
      assert.notEqual(fs.statSync(at('dags/a')).ino, ino);
      await sandbox.removeTrees();
      await sync(other);
      await sandbox.removeTrees();
      assert.deepEqual(await sandbox.files(), { other: '1' });
      const kept = at('.sync-agent/taken-over/dags.kept');
      assert.deepEqual(below(kept), { a: '1', own: 'theirs', 'sub/b': '1' });
      assert.equal(fs.statSync(`${kept}/a`).ino, ino);
    });
  }
});
