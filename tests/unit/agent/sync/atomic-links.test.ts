import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { describeSync } from '../../../../agent/report/describe-sync.ts';
import { slow } from '../../../support/depth.ts';
import { gitSandbox, type Profile } from '../support/git-sandbox.ts';
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

test('the link is removed with the last file, also by a sync that compares only the changes (allowEmpty)', async (t) => {
  const { commit, sandbox, sync } = await localSandbox(t);
  const first = await commit({ files: { a: '1' } });
  const second = await commit({ files: { a: null } });
  const profile = { mappings: [mappingOf('.', 'dags', { publish: 'atomic' })], allowEmpty: true };
  for (const each of [first, second]) await sync(profile, each);
  assert.deepEqual(fs.readdirSync(sandbox.data), ['.sync-agent']);
  await sandbox.restart();
  await sync(profile, second);
  assert.deepEqual(fs.readdirSync(sandbox.data), ['.sync-agent']);
  await expectTrees(sandbox, []);
});

test('without a manifest, the files of the tree are kept, because the gateway might have written them', async (t) => {
  const { commit, sandbox, at, sync } = await localSandbox(t);
  const first = await commit({ files: { 'dags/a': '1', 'dags/b': '1' } });
  const second = await commit({ files: { 'dags/b': '2' } });
  await sync(atomic, first);
  writeInto(treeOf(sandbox), 'own', 'theirs');
  fs.writeFileSync(at('.sync-agent/manifest.jsonl'), '');
  await sandbox.restart();
  await sync(atomic, second);
  await sandbox.removeTrees();
  assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '2' });
  assert.deepEqual(treesOf(sandbox), [path.basename(treeOf(sandbox))]);
  assert.deepEqual(takenOver(sandbox), ['1', '1', 'theirs']);
});

test('a directory that replaced the link is never mixed with files of the agent', async (t) => {
  const { sandbox, at, sync, deliver } = await localSandbox(t);
  await deliver({ 'dags/a': '1' }, atomic);
  const link = at('dags');
  fs.unlinkSync(link);
  fs.mkdirSync(link);
  fs.writeFileSync(path.join(link, 'own'), 'theirs');
  await assert.rejects(sync(plain), { code: 'sync.PathConflict', message: /\bdags\b/ });
  assert.deepEqual(await sandbox.files(), { 'dags/own': 'theirs' });
  fs.renameSync(link, at('elsewhere'));
  await sync(plain);
  assert.deepEqual(await sandbox.files(), { 'dags/a': '1', 'elsewhere/own': 'theirs' });
});

suite('an atomic mapping whose source is a symbolic link', () => {
  const files = { 'real/a': '1', file: '1', directory: { symlink: 'real' }, leaf: { symlink: 'file' } };
  const profileOf = (source: string, more: Profile = {}): Profile => ({
    mappings: [mappingOf(source, 'dags', { publish: 'atomic' })],
    ...more,
  });

  test('delivers the directory that it leads to', async (t) => {
    const { commit, sandbox, sync } = await localSandbox(t);
    const first = await commit({ files });
    await sync(profileOf('directory'), first);
    assert.deepEqual(below(treeOf(sandbox)), { a: '1' });
  });

  for (const dryRun of [true, false]) {
    test(`is an error if it leads to a file (dry run: ${dryRun})`, async (t) => {
      const { commit, sandbox, sync } = await localSandbox(t);
      await commit({ files: files });
      const into = [mappingOf('leaf', 'dags/', { publish: 'atomic' })];
      for (const profile of [profileOf('leaf'), profileOf('leaf', { mappings: into })]) {
        const refusal = { code: 'sync.ProfileInvalid', message: /\bleaf .* file, .* publish: atomic / };
        await assert.rejects(sync({ ...profile, dryRun }), refusal);
      }
      assert.deepEqual(await sandbox.files(), {});
    });
  }
});

suite('a dry run and a diff list the link of an atomic destination if', () => {
  const cases: {
    title: string;
    earlier?: Profile;
    act?: (link: string) => void;
    profile: Profile;
    lines: string[];
  }[] = [
    {
      title: 'it was removed',
      earlier: atomic,
      act: (link) => fs.unlinkSync(link),
      profile: atomic,
      lines: ['add dags (Missing)'],
    },
    {
      title: 'a directory has replaced it',
      earlier: atomic,
      act: (link) => {
        fs.unlinkSync(link);
        fs.mkdirSync(link);
      },
      profile: atomic,
      lines: ['modify dags (Drifted)'],
    },
    { title: 'publish: atomic is added', earlier: plain, profile: atomic, lines: ['modify dags (PublishChanged)'] },
    { title: 'publish: atomic is removed', earlier: atomic, profile: plain, lines: ['modify dags (PublishChanged)'] },
    {
      title: 'a directory of the gateway is taken over',
      act: (link) => {
        fs.mkdirSync(link);
        fs.writeFileSync(path.join(link, 'own'), 'theirs');
      },
      profile: atomic,
      lines: ['modify dags (TakenOver)', 'add dags/a (New)', 'add dags/b (New)'],
    },
    {
      title: 'its mapping is removed',
      earlier: { mappings: [...(atomic.mappings ?? []), mappingOf('other', 'other')] },
      profile: other,
      lines: ['delete dags (NoLongerMapped)', 'delete dags/a (NoLongerMapped)', 'delete dags/b (NoLongerMapped)'],
    },
  ];
  for (const { title, earlier, act, profile, lines } of cases) {
    test(title, slow, async (t) => {
      const { repo, commit, sandbox, at, sync } = await gitSandbox(t, 'listed-link');
      const id = await commit({ files: { 'dags/a': '1', 'dags/b': '1', other: '1' } });
      if (earlier) await sync(earlier);
      act?.(at('dags'));
      const { message, changes } = describeSync(await sync({ ...profile, dryRun: true }), []);
      assert.deepEqual(changes, lines);
      assert.match(message ?? '', new RegExp(`^\\D*${lines.length} `));
      const answer = await sandbox.inspect({ kind: 'diff', ref: 'main' }, { repo, commit: id, profile });
      assert.deepEqual(
        answer.changes.map(({ kind, path: file, reason }) => `${kind} ${file} (${reason})`),
        lines,
      );
      await sync(profile);
      assert.deepEqual(describeSync(await sync({ ...profile, dryRun: true }), []).changes, []);
    });
  }
});
