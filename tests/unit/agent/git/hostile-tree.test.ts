import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { slow } from '../../../support/depth.ts';
import { createRepository } from '../support/git-sandbox.ts';
import { createSandbox, mapped } from '../support/sandbox.ts';
import { type RawEntry, rawCommits } from './support/write-object.ts';

async function arrange(t: TestContext) {
  const repository = await createRepository('x');
  const { treeOf, commitTree, ...raw } = rawCommits(repository);
  const commitEntries = async (entries: RawEntry[], author?: string) =>
    await commitTree(await treeOf(...entries), author);
  return { ...raw, repo: repository.url, sandbox: await createSandbox(t), treeOf, commitEntries };
}

suite("a tree that git itself can't have committed", () => {
  for (const name of ['.GIT', '.g\u200cit', 'git~1', '.git::$INDEX_ALLOCATION', '..', '.']) {
    test(`is rejected: ${JSON.stringify(name)}`, async (t) => {
      const { repo, sandbox, blobOf, treeOf, commitEntries } = await arrange(t);
      const inner = await treeOf(['100644', 'config', await blobOf('x')]);
      const commit = await commitEntries([['40000', name, inner]]);
      await assert.rejects(sandbox.sync({ repo, commit }), {
        name: 'TerminalError',
        code: 'git.unsafeObject',
        message: /\((hasDot|hasDotdot|hasDotgit)\)/,
      });
      assert.deepEqual(await sandbox.files(), {});
    });
  }
});

test('a commit with an author of a megabyte is delivered', slow, async (t) => {
  const { repo, sandbox, blobOf, commitEntries } = await arrange(t);
  const author = `${'A'.repeat(1024 ** 2)} <a@b.test> 1700000000 +0000`;
  await sandbox.sync({
    repo,
    commit: await commitEntries([['100644', 'a', await blobOf('1')]], author),
  });
  assert.deepEqual(await sandbox.files(), { a: '1' });
});

suite('an old but honest history', () => {
  test('works in a partial clone, and no pinned commit is lost', slow, async (t) => {
    const { repo, sandbox, blobOf, treeOf, commitEntries } = await arrange(t);
    const film: RawEntry = ['100644', 'film', await blobOf(randomBytes(100_000))];
    const commitConfig = async (content: string, mode: string) =>
      await commitEntries([[mode, 'config', await treeOf(['100644', 'a', await blobOf(content)])], film]);
    const earlier: string[] = [];
    for (const [content, mode] of [
      ['1', '40000'],
      ['2', '040000'],
      ['3', '40000'],
      ['4', '040000'],
    ] as const) {
      const commit = await commitConfig(content, mode);
      await sandbox.sync({ repo, commit, earlier, profile: mapped('config') });
      assert.deepEqual(await sandbox.files(), { 'config/a': content });
      earlier.unshift(commit);
      await sandbox.tidy();
    }
    const packs = path.join(sandbox.repo, 'objects/pack');
    const sizes = await Promise.all(
      (await readdir(packs)).map(async (name) => (await stat(path.join(packs, name))).size),
    );
    const bytes = sizes.reduce((all, size) => all + size, 0);
    assert.ok(bytes < 150_000, `the film is there once: ${bytes} bytes`);
    assert.deepEqual(new Set(await sandbox.clone.pins.commits()), new Set(earlier));
    const commit = earlier.at(-1) ?? '';
    await sandbox.sync({ repo: `${repo}/away`, commit, earlier, profile: mapped('config') });
    assert.deepEqual(await sandbox.files(), { 'config/a': '1' });
  });

  for (const [what, attributes] of [
    ['a line that is too long for git', `# ${'0'.repeat(3_000)}\n*.sh text\n`],
    ['more bytes than git reads', Buffer.alloc(101 * 1024 ** 2, '*.sh text\n')],
  ] as const) {
    test(`works with .gitattributes of ${what}`, slow, async (t) => {
      const { repo, blobOf, treeOf, commitEntries } = await arrange(t);
      const commit = await commitEntries([
        ['100644', '.gitattributes', await blobOf(attributes)],
        ['40000', 'config', await treeOf(['100644', 'a', await blobOf('1')])],
      ]);
      for (const source of ['.', 'config']) {
        const sandbox = await createSandbox(t);
        const profile = { ...mapped(source), excludePatterns: ['.gitattributes'] };
        await sandbox.sync({ repo, commit, profile });
        assert.deepEqual(await sandbox.files(), { 'config/a': '1' });
      }
    });
  }

  test("doesn't slip past the checks for other problems", async (t) => {
    const { repo, sandbox, blobOf, treeOf, commitEntries } = await arrange(t);
    const inner = await treeOf(['100644', 'a', await blobOf('x')]);
    const names = ['.GIT', 'config'].map((name): RawEntry => ['040000', name, inner]);
    const target = { repo, commit: await commitEntries(names), profile: mapped('config') };
    await assert.rejects(sandbox.sync(target), { code: 'git.unsafeObject', message: /\(hasDotgit\)/ });
    assert.deepEqual(await sandbox.files(), {});
  });
});

test(
  "a name that isn't UTF-8 is allowed in an excluded file, and an error that shows it elsewhere",
  slow,
  async (t) => {
    const { repo, sandbox, blobOf, commitEntries } = await arrange(t);
    const names = [Buffer.from('Stra\xdfe.txt', 'latin1'), 'a'];
    const targetOf = async (content: string) => {
      const id = await blobOf(content);
      return { repo, commit: await commitEntries(names.map((name): RawEntry => ['100644', name, id])) };
    };
    const target = await targetOf('1');
    await assert.rejects(sandbox.sync(target), { name: 'TerminalError', message: /Stra.e\.txt .*UTF-8/ });
    const profile = { excludePatterns: ['Stra*'] };
    await sandbox.sync({ ...target, profile });
    assert.deepEqual(await sandbox.files(), { a: '1' });
    await sandbox.sync({ ...(await targetOf('2')), profile });
    assert.deepEqual(await sandbox.files(), { a: '2' });
  },
);
