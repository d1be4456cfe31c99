import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import type { ResolvedProfile } from '../../../../shared/domain/resolve-profile.ts';
import { createRepository } from '../support/git-sandbox.ts';
import { createSandbox } from '../support/sandbox.ts';
import { below, mappingOf, ownContents, treeOf, treesOf } from '../support/tree-files.ts';

const atomic: Partial<ResolvedProfile> = { mappings: [mappingOf('dags', 'dags', { publish: 'atomic' })] };
const other: Partial<ResolvedProfile> = { mappings: [mappingOf('other', 'other')] };

async function commits(name: string) {
  const { url: repo, commit } = await createRepository(name);
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

  test('and links to an earlier tree, both are removed after the repair', async (t) => {
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
