import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import type { ResolvedProfile } from '../../../../shared/domain/resolve-profile.ts';
import { createLocalRepository } from '../support/local-sandbox.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import { below, mappingOf, ownContents, treeOf } from '../support/tree-files.ts';

const atomic: Partial<ResolvedProfile> = { mappings: [mappingOf('dags', 'dags', { publish: 'atomic' })] };
const plain: Partial<ResolvedProfile> = { mappings: [mappingOf('dags', 'dags')] };
const other: Partial<ResolvedProfile> = { mappings: [mappingOf('other', 'other')] };

async function prepare(name: string) {
  const { url: repo, commit } = await createLocalRepository(name);
  return { repo, commit: await commit({ files: { 'dags/a': '1', 'dags/sub/b': '1', other: '1' } }) };
}

function write({ data }: Sandbox, files: Record<string, string>): void {
  for (const [file, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(data, file)), { recursive: true });
    fs.writeFileSync(path.join(data, file), text);
  }
}

suite('a directory with files of the agent and of the gateway', () => {
  test('is never replaced by a link; five of the other entries are named', async (t) => {
    const target = await prepare('mixed-refused');
    const sandbox = await createSandbox(t);
    const theirs = { 'dags/uploads/photo': 'p', 'dags/sub/own': 'o', 'dags/1': '1', 'dags/2': '2', 'dags/3': '3' };
    write(sandbox, theirs);
    await sandbox.sync({ ...target, profile: plain });
    const before = await sandbox.files();
    for (const dryRun of [true, false]) {
      const error = await sandbox.sync({ ...target, profile: { ...atomic, dryRun } }).catch((each) => each);
      assert.match(error.message, /^dags contains files of the agent, and entries that the agent did not write: /);
      assert.match(error.message, / specify another destination$/);
      for (const entry of ['dags/uploads', 'dags/sub/own', 'dags/1', 'dags/2', 'dags/3'])
        assert.ok(error.message.includes(entry), entry);
      assert.doesNotMatch(error.message, /photo|and more/);
    }
    write(sandbox, { 'dags/4': '4' });
    await assert.rejects(sandbox.sync({ ...target, profile: atomic }), /, and more\. /);
    assert.deepEqual(await sandbox.files(), { ...before, 'dags/4': '4' });
    await sandbox.sync({ ...target, profile: other });
    assert.deepEqual(await sandbox.files(), { ...theirs, 'dags/4': '4', other: '1' });
  });

  test('is replaced once the other entries were moved', async (t) => {
    const target = await prepare('mixed-moved');
    const sandbox = await createSandbox(t);
    write(sandbox, { 'dags/sub/own': 'theirs' });
    await sandbox.sync({ ...target, profile: plain });
    await assert.rejects(sandbox.sync({ ...target, profile: atomic }), /did not write: dags\/sub\/own\. /);
    fs.renameSync(path.join(sandbox.data, 'dags/sub/own'), path.join(sandbox.data, 'own'));
    await sandbox.sync({ ...target, profile: atomic });
    assert.deepEqual(below(treeOf(sandbox)), { a: '1', 'sub/b': '1' });
    assert.deepEqual(ownContents(sandbox, 'taken-over'), []);
  });

  test('is never replaced if one of its links to a tree became a directory of the gateway', async (t) => {
    const target = await prepare('mixed-nested');
    const sandbox = await createSandbox(t);
    const inner = mappingOf('dags', 'dags/in', { publish: 'atomic' });
    await sandbox.sync({ ...target, profile: { mappings: [mappingOf('dags', 'dags'), inner] } });
    fs.unlinkSync(path.join(sandbox.data, 'dags/in'));
    write(sandbox, { 'dags/in/a': 'theirs' });
    await assert.rejects(sandbox.sync({ ...target, profile: atomic }), /did not write: dags\/in\. /);
    assert.equal(fs.readFileSync(path.join(sandbox.data, 'dags/in/a'), 'utf8'), 'theirs');
  });
});

suite('files that the agent found with the right content', () => {
  const files = { 'dags/a': '1', 'dags/sub/b': '1' };

  test('keep a destination from becoming atomic with onConflict: refuse', async (t) => {
    const target = await prepare('found-refused');
    const sandbox = await createSandbox(t);
    write(sandbox, files);
    const onConflict = 'refuse' as const;
    await sandbox.sync({ ...target, profile: { ...plain, onConflict } });
    await assert.rejects(
      sandbox.sync({ ...target, profile: { ...atomic, onConflict } }),
      /did not write, such as dags/,
    );
    await sandbox.sync({ ...target, profile: { ...other, onConflict } });
    assert.deepEqual(await sandbox.files(), { ...files, other: '1' });
  });

  for (const prune of [true, false]) {
    test(`are kept and restored with their directory (prune: ${prune})`, async (t) => {
      const target = await prepare(`found-kept-${prune}`);
      const sandbox = await createSandbox(t);
      write(sandbox, { ...files, 'dags/own': 'theirs' });
      const { ino } = fs.statSync(path.join(sandbox.data, 'dags/a'));
      await sandbox.sync({ ...target, profile: { ...plain, prune } });
      await sandbox.sync({ ...target, profile: { ...atomic, prune } });
      assert.deepEqual(below(treeOf(sandbox)), insideOf(files));
      assert.notEqual(fs.statSync(path.join(treeOf(sandbox), 'a')).ino, ino);
      await sandbox.removeTrees();
      await sandbox.sync({ ...target, profile: other });
      await sandbox.removeTrees();
      assert.deepEqual(await sandbox.files(), { ...files, 'dags/own': 'theirs', other: '1' });
      assert.equal(fs.statSync(path.join(sandbox.data, 'dags/a')).ino, ino);
    });
  }
});

const insideOf = (files: Record<string, string>) =>
  Object.fromEntries(Object.entries(files).map(([file, text]) => [file.slice('dags/'.length), text]));
