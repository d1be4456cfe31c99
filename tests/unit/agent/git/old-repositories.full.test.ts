import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import { createRepository } from '../support/git-sandbox.ts';
import { createSandbox, mapped } from '../support/sandbox.ts';
import { type RawEntry, rawCommits } from './support/write-object.ts';

const WHO = 'A <a@b.test> 1700000000 +0000';
const BY = [`author ${WHO}`, `committer ${WHO}`];

/** Header lines after `tree`, a message, entries of the root other than `config`, or a `.gitmodules`. */
interface Fault {
  header?: string[];
  message?: string;
  /** Entries before and after `config`. `1` and `2` are files, `directory` has a file `a`. */
  first?: [mode: string, name: string, object: '1' | '2' | 'directory'][];
  last?: [mode: string, name: string, object: '1' | '2' | 'directory'][];
  gitmodules?: string;
}

const writtenBy = (identity: string): Fault => ({ header: [`author ${identity}`, `committer ${identity}`] });
const module = (lines: string, name = 'm'): Fault => ({ gitmodules: `[submodule "${name}"]\n\t${lines}\n` });

/** Faults by their names in git-fsck(1). */
const accepted: [fault: string, Fault][] = [
  ['badDate', writtenBy('A <a@b> x +0000')],
  ['badDateOverflow', writtenBy('A <a@b> 99999999999999999999 +0000')],
  ['badEmail', writtenBy('A <a<b>> 1 +0000')],
  ['badFilemode', { first: [['100664', 'a', '1']] }],
  ['badName', writtenBy('A> <a@b> 1 +0000')],
  ['badTimezone', writtenBy('A <a@b> 1 +051800')],
  ['extraHeaderEntry', { header: [...BY, 'svn-id 12', 'HG:extra x'] }],
  ['gitattributesBlob', { first: [['40000', '.gitattributes', 'directory']] }],
  ['gitmodulesBlob', { first: [['40000', '.gitmodules', 'directory']] }],
  ['gitmodulesName', module('path = m\n\turl = https://e.test/m', '../m')],
  ['gitmodulesParse', { gitmodules: '[m\n' }],
  ['gitmodulesPath', module('path = -m\n\turl = https://e.test/m')],
  ['gitmodulesUpdate', module('path = m\n\turl = https://e.test/m\n\tupdate = !true')],
  ['gitmodulesUrl', module('path = m\n\turl = https:///e.test/m')],
  ['missingAuthor', { header: [`committer ${WHO}`] }],
  ['missingCommitter', { header: [`author ${WHO}`] }],
  ['missingEmail', writtenBy('A 1 +0000')],
  ['missingNameBeforeEmail', writtenBy('<a@b> 1 +0000')],
  ['missingSpaceBeforeDate', writtenBy('A <a@b>1 +0000')],
  ['missingSpaceBeforeEmail', writtenBy('A<a@b> 1 +0000')],
  ['multipleAuthors', { header: [`author ${WHO}`, ...BY] }],
  ['nulInCommit', { message: 'x\0y' }],
  ['zeroPaddedDate', writtenBy('A <a@b> 01 +0000')],
  ['zeroPaddedFilemode', { last: [['040000', 'directory', 'directory']] }],
];

/** Faults that git clone(1) accepts as well. */
const refused: [fault: string, why: string, Fault][] = [
  ['duplicateEntries', 'two files have one path', { first: [1, 2].map((n) => ['100644', 'a', `${n as 1 | 2}`]) }],
  ['fullPathname', 'it is the path of another entry', { first: [['100644', 'a/b', '1']] }],
  ['treeNotSorted', 'git does not find every path', { last: [['100644', 'a', '1']] }],
  ['nulInHeader', 'git ignores no such fault', writtenBy('A\0 <a@b> 1 +0000')],
];

async function commitWith({ header = BY, message = 'x\n', first = [], last = [], gitmodules }: Fault) {
  const repository = await createRepository('old');
  const { write, blobOf, treeOf } = rawCommits(repository);
  const files = { 1: await blobOf('1'), 2: await blobOf('2') };
  const objects = { ...files, directory: await treeOf(['100644', 'a', files[1]]) };
  const entries = [...first, ['40000', 'config', 'directory'] as const, ...last].map(
    ([mode, name, object]): RawEntry => [mode, name, objects[object]],
  );
  if (gitmodules !== undefined) entries.unshift(['100644', '.gitmodules', await blobOf(gitmodules)]);
  const tree = await treeOf(...entries);
  const commit = await write('commit', Buffer.from(`tree ${tree}\n${header.join('\n')}\n\n${message}`));
  // git itself refuses to let a ref lead to some of them.
  await writeFile(path.join(repository.path, 'refs/heads/main'), `${commit}\n`);
  return { repo: repository.url, commit, directory: repository.path, write };
}

/** Results of a clone without any settings, and of a sync of a part and of the whole. */
async function fetchBy(t: TestContext, fault: Fault) {
  const target = await commitWith(fault);
  const sandboxes = [await createSandbox(t), await createSandbox(t)] as const;
  await runCommand('git', ['clone', '--quiet', target.repo, path.join(sandboxes[0].directory, 'clone')]);
  return (['config', '.'] as const).map((source, index) => ({
    sandbox: sandboxes[index] as (typeof sandboxes)[0],
    target: { ...target, profile: mapped(source) },
  }));
}

suite('a commit of an old repository is delivered, as by git clone', () => {
  for (const [name, fault] of accepted) {
    test(name, async (t) => {
      for (const { sandbox, target } of await fetchBy(t, fault)) {
        await sandbox.sync(target);
        assert.equal((await sandbox.files())['config/a'], '1');
      }
    });
  }
});

suite('an old tag of a commit is fetched', () => {
  for (const [name, header] of [
    ['missingTaggerEntry', ['tag v1']],
    ['badTagName', ['tag v..1', `tagger ${WHO}`]],
    ['missingEmail', ['tag v1', 'tagger A 1 +0000']],
    ['badTimezone', ['tag v1', 'tagger A <a@b> 1 +0x']],
    ['extraHeaderEntry', ['tag v1', `tagger ${WHO}`, 'svn-id 12']],
  ] as const) {
    test(name, async (t) => {
      const { repo, commit, directory, write } = await commitWith({});
      const tag = await write('tag', Buffer.from(`object ${commit}\ntype commit\n${header.join('\n')}\n\nx\n`));
      await writeFile(path.join(directory, 'refs/tags/v1'), `${tag}\n`);
      const { clone, sync } = await createSandbox(t);
      await sync({ repo, commit });
      await clone.fetchTag({ repo, commit, ref: 'v1' }, {});
      assert.equal((await clone.tag(commit))?.id, tag);
    });
  }
});

suite('a commit is rejected, although git clone accepts it', () => {
  for (const [name, why, fault] of refused) {
    test(`${name}: ${why}`, async (t) => {
      for (const { sandbox, target } of await fetchBy(t, fault)) {
        const message = new RegExp(`check the repository with git fsck \\(${name}\\)$`);
        await assert.rejects(sandbox.sync(target), { code: 'git.unsafeObject', message });
        assert.deepEqual(await sandbox.files(), {});
      }
    });
  }
});
