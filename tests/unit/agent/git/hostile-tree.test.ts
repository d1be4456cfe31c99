import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import type { GitRepository } from '../../../../scripts/testbed/git-repository.ts';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { createSandbox } from '../support/sandbox.ts';
import { commitText, objectWriter, treeEntry } from './support/write-object.ts';

interface Entry {
  mode: string;
  name: string | Buffer;
  id: string;
}

interface World {
  repository: GitRepository;
  /** Writes an object unchanged, even if git considers it invalid, and returns its ID. */
  write(type: 'blob' | 'tree' | 'commit', content: Buffer): Promise<string>;
  /** Commits a tree of these entries. */
  commitTree(entries: Entry[], author?: string): Promise<string>;
}

async function arrange(t: TestContext): Promise<World> {
  const server = await gitServerFor(t);
  const repository = await server.createRepository('x');
  const write = objectWriter(repository.path);
  const commitTree: World['commitTree'] = async (entries, author) => {
    const tree = await write('tree', Buffer.concat(entries.map(({ mode, name, id }) => treeEntry(mode, name, id))));
    const commit = await write('commit', commitText(tree, author));
    await repository.git('update-ref', 'refs/heads/main', commit);
    return commit;
  };
  return { repository, write, commitTree };
}

const mapped = (...sources: string[]) => ({
  mappings: sources.map((source) => ({ source, destination: source, required: true, template: false })),
});

suite("a tree that git itself can't have committed", () => {
  for (const name of [
    '.git',
    '.GIT',
    '.g\u200cit',
    'git~1',
    '.git ',
    '.git...',
    '.git::$INDEX_ALLOCATION',
    '..',
    '.',
  ]) {
    test(`is rejected: ${JSON.stringify(name)}`, async (t) => {
      const { repository, write, commitTree } = await arrange(t);
      const id = await write('blob', Buffer.from('x'));
      const inner = await write('tree', treeEntry('100644', 'config', id));
      const commit = await commitTree([{ mode: '40000', name, id: inner }]);
      const sandbox = await createSandbox(t);
      await assert.rejects(sandbox.sync({ repo: repository.url, commit }), {
        name: 'TerminalError',
        code: 'git.unsafeObject',
        message: /\((hasDot|hasDotdot|hasDotgit)\)/,
      });
      assert.deepEqual(await sandbox.files(), {});
    });
  }
});

test("an author of a megabyte isn't parsed, and the files are delivered", slow, async (t) => {
  const { repository, write, commitTree } = await arrange(t);
  const entries = [{ mode: '100644', name: 'a', id: await write('blob', Buffer.from('1')) }];
  const commit = await commitTree(entries, `${'A'.repeat(1024 ** 2)} <a@b.test> 1700000000 +0000`);
  const sandbox = await createSandbox(t);
  const outcome = await sandbox.sync({ repo: repository.url, commit });
  assert.deepEqual(await sandbox.files(), { a: '1' });
  assert.equal(outcome.kind === 'synced' && outcome.author, undefined);
});

suite('an old but honest history', () => {
  test('works, though its modes have leading zeros and its authors no address', slow, async (t) => {
    const { repository, write, commitTree } = await arrange(t);
    const id = await write('blob', Buffer.from('1'));
    const inner = await write('tree', treeEntry('100664', 'a', id));
    const entries = [{ mode: '040000', name: 'config', id: inner }];
    const authors = ['A <a@b.test> 1700000000 +051800', 'A 1700000000 +0000', '<a> 0000001 +0000', 'A <a<b>> 1 +0000'];
    for (const source of ['.', 'config']) {
      const sandbox = await createSandbox(t);
      for (const author of authors) {
        const commit = await commitTree(entries, author);
        await sandbox.sync({ repo: repository.url, commit, profile: mapped(source) });
        assert.deepEqual(await sandbox.files(), { 'config/a': '1' });
      }
    }
  });

  test('works in a partial clone, and no pinned commit is lost', slow, async (t) => {
    const { repository, write, commitTree } = await arrange(t);
    const film = { mode: '100644', name: 'film', id: await write('blob', randomBytes(100_000)) };
    const commitConfig = async (content: string, mode: string) => {
      const id = await write('blob', Buffer.from(content));
      const inner = await write('tree', treeEntry('100644', 'a', id));
      return await commitTree([{ mode, name: 'config', id: inner }, film]);
    };
    const sandbox = await createSandbox(t);
    const earlier: string[] = [];
    for (const [content, mode] of [
      ['1', '40000'],
      ['2', '040000'],
      ['3', '40000'],
      ['4', '040000'],
    ] as const) {
      const commit = await commitConfig(content, mode);
      await sandbox.sync({ repo: repository.url, commit, earlier, profile: mapped('config') });
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
    await sandbox.sync({ repo: `${repository.url}/away`, commit, earlier, profile: mapped('config') });
    assert.deepEqual(await sandbox.files(), { 'config/a': '1' });
  });

  for (const [what, attributes] of [
    ['a line that is too long for git', `# ${'0'.repeat(3_000)}\n*.sh text\n`],
    ['more bytes than git reads', Buffer.alloc(101 * 1024 ** 2, '*.sh text\n')],
  ] as const) {
    for (const source of ['.', 'config']) {
      test(`works with .gitattributes of ${what}, mapping ${source}`, slow, async (t) => {
        const { repository, write, commitTree } = await arrange(t);
        const id = await write('blob', Buffer.from('1'));
        const inner = await write('tree', treeEntry('100644', 'a', id));
        const commit = await commitTree([
          { mode: '100644', name: '.gitattributes', id: await write('blob', Buffer.from(attributes)) },
          { mode: '40000', name: 'config', id: inner },
        ]);
        const sandbox = await createSandbox(t);
        const profile = { ...mapped(source), excludePatterns: ['.gitattributes'] };
        await sandbox.sync({ repo: repository.url, commit, profile });
        assert.deepEqual(await sandbox.files(), { 'config/a': '1' });
      });
    }
  }

  test("doesn't slip past the checks for other problems", async (t) => {
    const { repository, write, commitTree } = await arrange(t);
    const id = await write('blob', Buffer.from('x'));
    const inner = await write('tree', treeEntry('100644', 'a', id));
    const commit = await commitTree([
      { mode: '040000', name: '.GIT', id: inner },
      { mode: '040000', name: 'config', id: inner },
    ]);
    const sandbox = await createSandbox(t);
    const target = { repo: repository.url, commit, profile: mapped('config') };
    await assert.rejects(sandbox.sync(target), { code: 'git.unsafeObject', message: /\(hasDotgit\)/ });
    assert.deepEqual(await sandbox.files(), {});
  });
});

suite("a name that isn't UTF-8", () => {
  test('is allowed in an excluded file, and an error that shows it elsewhere', slow, async (t) => {
    const { repository, write, commitTree } = await arrange(t);
    const id = await write('blob', Buffer.from('1'));
    const other = await write('blob', Buffer.from('2'));
    const name = Buffer.from('Stra\xdfe.txt', 'latin1');
    const entries = (blob: string) => [
      { mode: '100644', name, id: blob },
      { mode: '100644', name: 'a', id: blob },
    ];
    const sandbox = await createSandbox(t);
    const target = { repo: repository.url, commit: await commitTree(entries(id)) };
    await assert.rejects(sandbox.sync(target), { name: 'TerminalError', message: /Stra.e\.txt .*isn't UTF-8/ });
    const profile = { excludePatterns: ['Stra*'] };
    await sandbox.sync({ ...target, profile });
    assert.deepEqual(await sandbox.files(), { a: '1' });
    await sandbox.sync({ ...target, commit: await commitTree(entries(other)), profile });
    assert.deepEqual(await sandbox.files(), { a: '2' });
  });
});
