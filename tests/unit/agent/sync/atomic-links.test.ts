import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { describeSync } from '../../../../agent/report/describe-sync.ts';
import type { ResolvedProfile } from '../../../../shared/domain/resolve-profile.ts';
import { slow } from '../../../support/depth.ts';
import { createRepository } from '../support/git-sandbox.ts';
import { createLocalRepository } from '../support/local-sandbox.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import { below, mappingOf, ownContents, treeOf, treesOf, writeInto } from '../support/tree-files.ts';

const atomic: Partial<ResolvedProfile> = { mappings: [mappingOf('dags', 'dags', { publish: 'atomic' })] };
const plain: Partial<ResolvedProfile> = { mappings: [mappingOf('dags', 'dags')] };
const other: Partial<ResolvedProfile> = { mappings: [mappingOf('other', 'other')] };

test('the link is removed with the last file, also by a sync that compares only the changes (allowEmpty)', async (t) => {
  const { url: repo, commit } = await createLocalRepository('emptied-atomic');
  const first = await commit({ files: { a: '1' } });
  const second = await commit({ files: { a: null } });
  const sandbox = await createSandbox(t);
  const profile = { mappings: [mappingOf('.', 'dags', { publish: 'atomic' })], allowEmpty: true };
  for (const each of [first, second]) await sandbox.sync({ repo, commit: each, profile });
  assert.deepEqual(fs.readdirSync(sandbox.data), ['.sync-agent']);
  await sandbox.restart();
  await sandbox.sync({ repo, commit: second, profile });
  assert.deepEqual(fs.readdirSync(sandbox.data), ['.sync-agent']);
  await sandbox.removeTrees();
  assert.deepEqual([treesOf(sandbox), ownContents(sandbox, 'taken-over')], [[], []]);
});

test('without a manifest, the files of the tree are kept, because the gateway might have written them', async (t) => {
  const { url: repo, commit } = await createLocalRepository('no-manifest');
  const first = await commit({ files: { 'dags/a': '1', 'dags/b': '1' } });
  const second = await commit({ files: { 'dags/b': '2' } });
  const sandbox = await createSandbox(t);
  await sandbox.sync({ repo, commit: first, profile: atomic });
  writeInto(treeOf(sandbox), 'own', 'theirs');
  fs.writeFileSync(path.join(sandbox.data, '.sync-agent/manifest.jsonl'), '');
  await sandbox.restart();
  await sandbox.sync({ repo, commit: second, profile: atomic });
  await sandbox.removeTrees();
  assert.deepEqual(below(treeOf(sandbox)), { a: '1', b: '2' });
  assert.deepEqual(treesOf(sandbox), [path.basename(treeOf(sandbox))]);
  assert.deepEqual(ownContents(sandbox, 'taken-over'), ['1', '1', 'theirs']);
});

test('a directory that replaced the link is never mixed with files of the agent', async (t) => {
  const { url: repo, commit } = await createLocalRepository('replaced-link');
  const target = { repo, commit: await commit({ files: { 'dags/a': '1' } }) };
  const sandbox = await createSandbox(t);
  await sandbox.sync({ ...target, profile: atomic });
  const link = path.join(sandbox.data, 'dags');
  fs.unlinkSync(link);
  fs.mkdirSync(link);
  fs.writeFileSync(path.join(link, 'own'), 'theirs');
  await assert.rejects(
    sandbox.sync({ ...target, profile: plain }),
    /dags was .* a directory has replaced it: move its files to another directory, and remove it/,
  );
  assert.deepEqual(await sandbox.files(), { 'dags/own': 'theirs' });
  fs.renameSync(link, path.join(sandbox.data, 'elsewhere'));
  await sandbox.sync({ ...target, profile: plain });
  assert.deepEqual(await sandbox.files(), { 'dags/a': '1', 'elsewhere/own': 'theirs' });
});

suite('an atomic mapping whose source is a symbolic link', () => {
  const files = { 'real/a': '1', file: '1', directory: { symlink: 'real' }, leaf: { symlink: 'file' } };
  const profileOf = (source: string, more: Partial<ResolvedProfile> = {}): Partial<ResolvedProfile> => ({
    mappings: [mappingOf(source, 'dags', { publish: 'atomic' })],
    ...more,
  });

  test('delivers the directory that it leads to', async (t) => {
    const { url: repo, commit } = await createLocalRepository('source-link');
    const sandbox = await createSandbox(t);
    const first = await commit({ files });
    await sandbox.sync({ repo, commit: first, profile: profileOf('directory') });
    assert.deepEqual(below(treeOf(sandbox)), { a: '1' });
    const second = await commit({ files: { directory: { symlink: 'file' } } });
    const error = await sandbox.sync({ repo, commit: second, profile: profileOf('directory') }).catch((each) => each);
    assert.match(error.message, /directory leads to the file file, but publish: atomic needs a directory/);
    assert.deepEqual(below(treeOf(sandbox)), { a: '1' });
  });

  for (const dryRun of [true, false]) {
    test(`is an error if it leads to a file (dry run: ${dryRun})`, async (t) => {
      const { url: repo, commit } = await createLocalRepository(`source-link-file-${dryRun}`);
      const target = { repo, commit: await commit({ files }) };
      const sandbox = await createSandbox(t);
      const into = [mappingOf('leaf', 'dags/', { publish: 'atomic' })];
      for (const profile of [profileOf('leaf'), profileOf('leaf', { mappings: into })]) {
        await assert.rejects(
          sandbox.sync({ ...target, profile: { ...profile, dryRun } }),
          /leaf leads to the file file, but publish: atomic needs a directory/,
        );
      }
      assert.deepEqual(await sandbox.files(), {});
    });
  }
});

suite('a dry run and a diff list the link of an atomic destination if', () => {
  const link = ({ data }: { data: string }) => path.join(data, 'dags');
  const cases: {
    title: string;
    earlier: Partial<ResolvedProfile>[];
    act?: (sandbox: Sandbox) => void;
    profile: Partial<ResolvedProfile>;
    lines: string[];
  }[] = [
    {
      title: 'it was removed',
      earlier: [atomic],
      act: (sandbox) => fs.unlinkSync(link(sandbox)),
      profile: atomic,
      lines: ['add dags (Missing)'],
    },
    {
      title: 'a directory has replaced it',
      earlier: [atomic],
      act: (sandbox) => {
        fs.unlinkSync(link(sandbox));
        fs.mkdirSync(link(sandbox));
      },
      profile: atomic,
      lines: ['modify dags (Drifted)'],
    },
    { title: 'publish: atomic is added', earlier: [plain], profile: atomic, lines: ['modify dags (PublishChanged)'] },
    { title: 'publish: atomic is removed', earlier: [atomic], profile: plain, lines: ['modify dags (PublishChanged)'] },
    {
      title: 'it is new',
      earlier: [],
      profile: atomic,
      lines: ['add dags (New)', 'add dags/a (New)', 'add dags/b (New)'],
    },
    {
      title: 'a directory of the gateway is taken over',
      earlier: [],
      act: (sandbox) => {
        fs.mkdirSync(link(sandbox));
        fs.writeFileSync(path.join(link(sandbox), 'own'), 'theirs');
      },
      profile: atomic,
      lines: ['modify dags (TakenOver)', 'add dags/a (New)', 'add dags/b (New)'],
    },
    {
      title: 'its mapping is removed',
      earlier: [{ mappings: [...(atomic.mappings ?? []), mappingOf('other', 'other')] }],
      profile: other,
      lines: ['delete dags (NoLongerMapped)', 'delete dags/a (NoLongerMapped)', 'delete dags/b (NoLongerMapped)'],
    },
  ];
  for (const [index, { title, earlier, act, profile, lines }] of cases.entries()) {
    test(title, slow, async (t) => {
      const { url: repo, commit: add } = await createRepository(`listed-link-${index}`);
      const commit = await add({ files: { 'dags/a': '1', 'dags/b': '1', other: '1' } });
      const sandbox = await createSandbox(t);
      for (const each of earlier) await sandbox.sync({ repo, commit, profile: each });
      act?.(sandbox);
      const dry = await sandbox.sync({ repo, commit, profile: { ...profile, dryRun: true } });
      const { message, changes } = describeSync(dry, []);
      assert.deepEqual(changes, lines);
      assert.match(message ?? '', new RegExp(`^dry run: ${lines.length} changes`));
      const answer = await sandbox.inspect({ kind: 'diff', ref: 'main' }, { repo, commit, profile });
      assert.deepEqual(
        answer.changes.map(({ kind, path: file, reason }) => `${kind} ${file} (${reason})`),
        lines,
      );
      await sandbox.sync({ repo, commit, profile });
      const after = await sandbox.sync({ repo, commit, profile: { ...profile, dryRun: true } });
      assert.deepEqual(describeSync(after, []).changes, []);
    });
  }
});
