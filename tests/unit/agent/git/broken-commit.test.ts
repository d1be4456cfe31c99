import assert from 'node:assert/strict';
import { open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import type { GitRepository } from '../../../../scripts/testbed/git-repository.ts';
import { slow } from '../../../support/depth.ts';
import type { GitDaemon } from '../../../support/git-daemon.ts';
import { gitDaemonFor } from '../../../support/git-server-for.ts';
import { createSandbox, mapped, type Sandbox } from '../support/sandbox.ts';
import { type RawEntry, rawCommits } from './support/write-object.ts';

interface World {
  daemon: GitDaemon;
  repository: GitRepository;
  sandbox: Sandbox;
  /** Id of the content of a file. */
  blob: string;
  /** Pinned commits, the newest first. */
  earlier: [string, string];
  treeOf(...entries: RawEntry[]): Promise<string>;
  /** Commits a tree with these entries in a directory `config`. */
  commitEntries(...entries: RawEntry[]): Promise<string>;
  sync(commit: string): ReturnType<Sandbox['sync']>;
}

/** Two commits for rollbacks of a gateway. */
async function arrange(t: TestContext): Promise<World> {
  const daemon = await gitDaemonFor(t);
  const repository = await daemon.createRepository('x');
  const { treeOf, commitTree } = rawCommits(repository);
  const commitEntries: World['commitEntries'] = async (...entries) =>
    await commitTree(await treeOf(['40000', 'config', await treeOf(...entries)]));
  const sandbox = await createSandbox(t);
  const first = await repository.commit({ files: { 'config/a': 'one' } });
  const second = await repository.commit({ files: { 'config/a': 'two' } });
  const earlier: [string, string] = [second, first];
  const profile = mapped('config');
  const sync = (commit: string) => sandbox.sync({ repo: repository.url, commit, earlier, profile, submodules: true });
  await sync(first);
  await sync(second);
  const blob = await repository.git('rev-parse', 'main:config/a');
  return { daemon, repository, sandbox, blob, earlier, treeOf, commitEntries, sync };
}

const INVALID = { name: 'TerminalError', code: 'commit.invalid', reason: 'ContentInvalid' };

async function assertFails(times: number, run: () => Promise<unknown>, error: object): Promise<void> {
  for (let n = 0; n < times; n += 1) await assert.rejects(run(), error);
}

/** Rolls back without the server. */
async function assertPinned({ daemon, sandbox, earlier: [second, first], sync }: World): Promise<void> {
  assert.deepEqual(new Set(await sandbox.clone.pins.commits()), new Set([second, first]));
  await daemon.stop();
  await sync(first);
  assert.deepEqual(await sandbox.files(), { 'config/a': 'one' });
  await sync(second);
  assert.deepEqual(await sandbox.files(), { 'config/a': 'two' });
}

suite('no pinned commit is lost because of a broken commit with', () => {
  test('a directory listed as a file', async (t) => {
    const world = await arrange(t);
    const { blob, treeOf, commitEntries, sync } = world;
    const tree = await treeOf(['100644', 'q', blob]);
    const commit = await commitEntries(['100644', 'a', blob], ['100644', 'b', tree]);
    await assertFails(2, () => sync(commit), INVALID);
    await assertPinned(world);
  });

  test('a file listed as a directory', slow, async (t) => {
    const world = await arrange(t);
    const { daemon, repository, blob, commitEntries, sync } = world;
    const commit = await commitEntries(['40000', 'b', blob]);
    const root = await repository.git('rev-parse', `${commit}^{tree}`);
    await daemon.sendOnly([commit, root, await repository.git('rev-parse', `${commit}:config`), blob]);
    await assertFails(2, () => sync(commit), INVALID);
    await assertPinned(world);
  });

  test(
    'a directory that is also listed as a file, even if fetches of another commit fail for unknown reasons',
    slow,
    async (t) => {
      const world = await arrange(t);
      const { daemon, repository, sandbox, blob, treeOf, commitEntries, sync } = world;
      const tree = await treeOf(['100644', 'q', blob]);
      const commit = await commitEntries(['100644', 'b', tree], ['40000', 'c', tree]);
      const root = await repository.git('rev-parse', `${commit}^{tree}`);
      await daemon.sendOnly([commit, root, await repository.git('rev-parse', `${commit}:config`), tree, blob]);
      await assert.rejects(sync(commit), { name: 'TerminalError', code: 'commit.invalid' });
      await daemon.sendOnly(['0'.repeat(40)]);
      await assertFails(3, () => sync('1'.repeat(40)), { name: 'TransientError' });
      await assertPinned(world);
      assert.equal(sandbox.fetches, 3);
    },
  );

  test('a tag of a directory, even if fetches of another commit fail for unknown reasons', slow, async (t) => {
    const world = await arrange(t);
    const { daemon, repository, sandbox, sync } = world;
    const id = await repository.git('rev-parse', 'main^{tree}');
    await assertFails(2, () => sync(id), { ...INVALID, code: 'commit.otherObject' });
    await daemon.sendOnly(['0'.repeat(40)]);
    await assertFails(3, () => sync('1'.repeat(40)), { name: 'TransientError' });
    await assertPinned(world);
    assert.equal(sandbox.fetches, 3);
  });

  test('a submodule that points to a file', slow, async (t) => {
    const world = await arrange(t);
    const { repository, blob, sync } = world;
    const gitmodules = '[submodule "s"]\n\tpath = config/s\n\turl = ../x.git\n';
    const commit = await repository.commit({ files: { '.gitmodules': gitmodules, 'config/s': { submodule: blob } } });
    await assertFails(2, () => sync(commit), { name: 'TerminalError', reason: 'SubmoduleInvalid' });
    await assertPinned(world);
  });

  test("a submodule's directory that the server omits, until the server sends it", slow, async (t) => {
    const { daemon, repository, sandbox, earlier, sync } = await arrange(t);
    const module = await daemon.createRepository('module');
    const linked = await module.commit({ files: { 'b/c': 'linked' } });
    const gitmodules = '[submodule "s"]\n\tpath = config/s\n\turl = ../module.git\n';
    const files = { '.gitmodules': gitmodules, 'config/s': { submodule: linked } };
    const commit = await repository.commit({ files });
    // The server has one response for both, without the files and directories of the submodule.
    await Promise.all(
      [module, repository].map(({ git }, n) => git('fetch', '-q', [repository, module][n]?.path ?? '', 'main')),
    );
    const objects = await repository.git('rev-list', '--objects', '--no-object-names', '-1', commit);
    await daemon.sendOnly([...objects.split('\n'), linked]);
    await assertFails(2, () => sync(commit), { code: 'git.incomplete', message: /^submodule config\/s: / });
    assert.deepEqual(new Set(await sandbox.clone.pins.commits()), new Set(earlier));
    await daemon.sendOnly(undefined);
    await sync(commit);
    assert.deepEqual(await sandbox.files(), { 'config/a': 'two', 'config/s/b/c': 'linked' });
  });

  test('a directory that the server omits, until the server sends it', slow, async (t) => {
    const world = await arrange(t);
    const { daemon, repository, sandbox, earlier, sync } = world;
    const commit = await repository.commit({ files: { 'config/a': 'three' } });
    await daemon.sendOnly([commit]);
    const incomplete = { name: 'TransientError', code: 'git.incomplete', reason: 'CommitNotServed' };
    await assertFails(2, () => sync(commit), incomplete);
    assert.deepEqual(new Set(await sandbox.clone.pins.commits()), new Set(earlier));
    await daemon.sendOnly(undefined);
    const { fetches } = sandbox;
    await sync(commit);
    assert.deepEqual([await sandbox.files(), sandbox.fetches], [{ 'config/a': 'three' }, fetches + 1]);
  });
});

suite('a damaged clone', () => {
  test('is repaired if it lost objects that several commits need', async (t) => {
    const { repository, sandbox, earlier, sync } = await arrange(t);
    const packs = path.join(sandbox.repo, 'objects/pack');
    const before = await readdir(packs);
    const third = await repository.commit({ files: { 'config/b/c': 'three' } });
    await sync(third);
    const came = (await readdir(packs)).filter((name) => !before.includes(name));
    const fourth = await repository.commit({ files: { 'config/a': 'four' } });
    await sync(fourth);
    for (const name of came) await rm(path.join(packs, name));
    await sandbox.restart();
    await rm(path.join(sandbox.data, 'config/a'));
    await sync(fourth);
    assert.deepEqual(await sandbox.files(), { 'config/a': 'four', 'config/b/c': 'three' });
    assert.deepEqual(new Set(await sandbox.clone.pins.commits()), new Set([fourth, ...earlier]));
  });

  test('is recreated if its bytes changed', slow, async (t) => {
    const { repository, sandbox, sync } = await arrange(t);
    const commit = await repository.commit({ files: { 'config/a': 'three' } });
    await sync(commit);
    const packs = path.join(sandbox.repo, 'objects/pack');
    for (const name of (await readdir(packs)).filter((file) => file.endsWith('.pack'))) {
      const file = await open(path.join(packs, name), 'r+');
      const { size } = await file.stat();
      await file.write(Buffer.alloc(size - 20 - 12, 0xff), 0, size - 20 - 12, 12);
      await file.close();
    }
    await rm(path.join(sandbox.data, 'config/a'));
    await sync(commit);
    assert.deepEqual(await sandbox.files(), { 'config/a': 'three' });
    assert.deepEqual(await sandbox.clone.pins.commits(), [commit]);
  });
});
