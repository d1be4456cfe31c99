import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { createSandbox } from '../support/sandbox.ts';
import { importable, runInSmallHeap } from '../support/small-heap.ts';
import { commitText, objectWriter, treeEntry } from './support/write-object.ts';

const MIB = 1024 ** 2;

/** A commit whose tree holds thirty times the same tree, twelve levels deep; at the bottom is a file, or nothing. */
async function commitBomb(t: TestContext, { isEmpty = false } = {}) {
  const server = await gitServerFor(t);
  const { url: repo, path, git } = await server.createRepository('x');
  const write = objectWriter(path);
  const file = await write('blob', Buffer.from('x'));
  let tree = await write('tree', isEmpty ? Buffer.alloc(0) : treeEntry('100644', 'f', file));
  for (let level = 0; level < 12; level += 1) {
    const names = Array.from({ length: 30 }, (_, index) => String(10 + index));
    tree = await write('tree', Buffer.concat(names.map((name) => treeEntry('40000', name, tree))));
  }
  const root = await write('tree', Buffer.concat([treeEntry('40000', 'bomb', tree), treeEntry('100644', 'ok', file)]));
  const commit = await write('commit', commitText(root));
  await git('update-ref', 'refs/heads/main', commit);
  return { repo, commit };
}

const mapped = (source: string) => ({ mappings: [{ source, destination: source, required: true, template: false }] });

suite('a commit that lists too many files to count', { timeout: 250_000 }, () => {
  for (const isEmpty of [false, true]) {
    test(
      `is rejected with a message, even if ${isEmpty ? 'all are directories' : 'they are excluded'}`,
      slow,
      async (t) => {
        const target = await commitBomb(t, { isEmpty });
        const sandbox = await createSandbox(t, { heapBytes: 32 * MIB });
        await assert.rejects(sandbox.sync({ ...target, profile: { excludePatterns: ['bomb/'] } }), {
          code: 'sync.TooManyFiles',
          message: /more than \d+ files in \d+ directories.*map fewer files/,
        });
        await sandbox.sync({ ...target, profile: mapped('ok') });
        assert.deepEqual(await sandbox.files(), { ok: 'x' });
      },
    );
  }

  test("isn't compared file by file if its paths are very long", slow, async (t) => {
    const server = await gitServerFor(t);
    const { url: repo, path, git, commit } = await server.createRepository('x');
    const sandbox = await createSandbox(t, { heapBytes: 32 * MIB });
    const from = await commit({ files: { ok: 'x' } });
    await sandbox.sync({ repo, commit: from });
    const write = objectWriter(path);
    const file = await write('blob', Buffer.from('x'));
    const names = Array.from({ length: 1_000 }, (_, index) => String(1_000 + index));
    let tree = await write('tree', Buffer.concat(names.map((name) => treeEntry('100644', name, file))));
    for (let level = 0; level < 10; level += 1) tree = await write('tree', treeEntry('40000', 'n'.repeat(4_000), tree));
    const to = await write('commit', commitText(tree));
    await git('update-ref', 'refs/heads/main', to);
    await assert.rejects(sandbox.sync({ repo, commit: to }), { code: 'sync.TooManyFiles' });
    assert.equal(await sandbox.clone.changes({ from, to, sources: [''] }), undefined);
  });

  test('is rejected if a path is longer than any file system allows', async (t) => {
    const server = await gitServerFor(t);
    const { url: repo, path, git } = await server.createRepository('x');
    const write = objectWriter(path);
    const file = await write('blob', Buffer.from('x'));
    const tree = await write('tree', treeEntry('100644', 'n'.repeat(3 * MIB), file));
    const commit = await write('commit', commitText(tree));
    await git('update-ref', 'refs/heads/main', commit);
    const sandbox = await createSandbox(t);
    await assert.rejects(sandbox.sync({ repo, commit }), {
      code: 'commit.invalid',
      message: /path longer than 1 MiB/,
    });
  });

  test('is no longer listed when the agent stops', slow, async (t) => {
    const target = await commitBomb(t);
    const sandbox = await createSandbox(t, { heapBytes: 2 ** 50 });
    await sandbox.sync({ ...target, profile: mapped('ok') });
    const reason = new Error('another commit came');
    await assert.rejects(sandbox.sync({ ...target, profile: mapped('bomb') }, AbortSignal.abort(reason)), reason);
    const stopping = new AbortController();
    const syncing = sandbox.sync({ ...target, profile: mapped('bomb') }, stopping.signal);
    setTimeout(() => stopping.abort(reason), 500);
    await assert.rejects(syncing, reason);
  });

  test('needs little memory for paths that are missing', slow, async (t) => {
    const server = await gitServerFor(t);
    const { path, commit } = await server.createRepository('x');
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

  test('needs little memory for the attributes above many long paths', async () => {
    const count = await runInSmallHeap(`
      import { attributesFilesAbove } from ${importable('agent/plan/content-attributes.ts')};
      const directories = 'a long directory name/'.repeat(125);
      let count = 0;
      for (const path of attributesFilesAbove(Array.from({ length: 800 }, (_, n) => \`\${n}/\${directories}f\`))) {
        if (path.endsWith('/.gitattributes')) count += 1;
      }
      console.log(count);
    `);
    assert.equal(Number(count), 800 * 126);
  });
});
