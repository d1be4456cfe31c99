import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { slow } from '../../../support/depth.ts';
import { createRepository, gitSandbox } from '../support/git-sandbox.ts';
import { createSandbox, mapped } from '../support/sandbox.ts';
import { importable, runInSmallHeap } from '../support/small-heap.ts';
import { type RawEntry, rawCommits } from './support/write-object.ts';

const MIB = 1024 ** 2;

/** A commit whose tree holds thirty times the same tree, twelve levels deep; at the bottom is a file, or nothing. */
async function commitBomb(isEmpty = false) {
  const repository = await createRepository('x');
  const { blobOf, treeOf, commitTree } = rawCommits(repository);
  const file = await blobOf('x');
  let tree = await (isEmpty ? treeOf() : treeOf(['100644', 'f', file]));
  for (let level = 0; level < 12; level += 1)
    tree = await treeOf(...Array.from({ length: 30 }, (_, index): RawEntry => ['40000', `${10 + index}`, tree]));
  const commit = await commitTree(await treeOf(['40000', 'bomb', tree], ['100644', 'ok', file]));
  return { repo: repository.url, commit };
}

suite('a commit that lists too many files to count', { timeout: 250_000 }, () => {
  for (const isEmpty of [false, true]) {
    test(
      `is rejected with a message, even if ${isEmpty ? 'all are directories' : 'they are excluded'}`,
      slow,
      async (t) => {
        const target = await commitBomb(isEmpty);
        const sandbox = await createSandbox(t, { heapBytes: 32 * MIB });
        const excluded = sandbox.sync({ ...target, profile: { excludePatterns: ['bomb/'] } });
        await assert.rejects(excluded, { code: 'sync.TooManyFiles' });
        await sandbox.sync({ ...target, profile: mapped('ok') });
        assert.deepEqual(await sandbox.files(), { ok: 'x' });
      },
    );
  }

  test("isn't compared file by file if its paths are very long", slow, async (t) => {
    const { repo, commit, repository, sandbox } = await gitSandbox(t, 'x', { heapBytes: 32 * MIB });
    const from = await commit({ files: { ok: 'x' } });
    await sandbox.sync({ repo, commit: from });
    const { blobOf, treeOf, commitTree } = rawCommits(repository);
    const file = await blobOf('x');
    let tree = await treeOf(...Array.from({ length: 1_000 }, (_, n): RawEntry => ['100644', `${1_000 + n}`, file]));
    for (let level = 0; level < 10; level += 1) tree = await treeOf(['40000', 'n'.repeat(4_000), tree]);
    const to = await commitTree(tree);
    await assert.rejects(sandbox.sync({ repo, commit: to }), { code: 'sync.TooManyFiles' });
    assert.equal(await sandbox.clone.changes({ from, to, sources: [''] }), undefined);
  });

  test('is rejected if a path is longer than any file system allows', async (t) => {
    const { repo, repository, sandbox } = await gitSandbox(t, 'x');
    const { blobOf, treeOf, commitTree } = rawCommits(repository);
    const commit = await commitTree(await treeOf(['100644', 'n'.repeat(3 * MIB), await blobOf('x')]));
    await assert.rejects(sandbox.sync({ repo, commit }), { code: 'commit.longPath' });
  });

  test('is no longer listed when the agent stops', slow, async (t) => {
    const target = await commitBomb();
    const sandbox = await createSandbox(t, { heapBytes: 2 ** 50 });
    await sandbox.sync({ ...target, profile: mapped('ok') });
    const reason = new Error('another commit came');
    await assert.rejects(sandbox.sync({ ...target, profile: mapped('bomb') }, AbortSignal.abort(reason)), reason);
    const stopping = new AbortController();
    const syncing = sandbox.sync({ ...target, profile: mapped('bomb') }, stopping.signal);
    setTimeout(() => stopping.abort(reason), 500);
    await assert.rejects(syncing, reason);
  });

  test('needs little memory for paths that are missing', slow, async () => {
    const { path, commit } = await createRepository('x');
    const id = await commit({ files: { ok: 'x' } });
    const listed = await runInSmallHeap(`
      import { Git } from ${importable('shared/io/git/git.ts')};
      import { listTree } from ${importable('agent/git/read-tree.ts')};
      const directories = 'directory/'.repeat(125);
      const sources = ['ok', ...Array.from({ length: 5_000 }, (_, n) => \`\${n}/\${directories}f\`)];
      const request = { gitDir: ${JSON.stringify(path)}, commit: '${id}', sources, withAttributes: true };
      const entries = await listTree(new Git(process.env), request, () => {});
      console.log(entries.map((entry) => entry.path).join());
    `);
    assert.equal(listed, 'ok');
  });
});
