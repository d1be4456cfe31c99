import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { createLfsHost, createLfsRepository } from '../../../support/lfs-host.ts';
import { createSandbox, mapped, type Sandbox } from '../support/sandbox.ts';
import { withSmallVolume } from '../support/small-volume.ts';

const MIB = 1024 ** 2;

async function startWorld(t: TestContext, { inLfs = false } = {}) {
  const server = await gitServerFor(t);
  const lfs = createLfsHost(`${server.url}/x.git/info/lfs/objects`);
  server.lfs = lfs.listener;
  const sandbox = await createSandbox(t);
  const repository = await (inLfs ? createLfsRepository(server) : server.createRepository('x'));
  return { server, lfs, repository, sandbox };
}

/** Ids of the objects of Git LFS on disk. */
async function storedIn({ repo }: Sandbox) {
  const entries = await readdir(path.join(repo, 'sync-agent-lfs/lfs/objects'), { recursive: true }).catch(() => []);
  return entries.flatMap((entry) => /\w{64}$/.exec(entry)?.[0] ?? []);
}

suite('with no git server, a gateway rolls back', () => {
  test('to commits that were fetched after the clone filled its volume', async (t) => {
    const { server, repository, sandbox } = await startWorld(t);
    const { url: repo, commit } = repository;
    // The size of each commit, and the number of pinned commits after it, in a volume of 16 MiB.
    const sizes: [mib: number, pinned: number][] = [
      [4, 1],
      [4, 2],
      [4, 3],
      [4, 1],
      [8, 2],
    ];
    await withSmallVolume(t, { path: sandbox.repo }, async () => {
      const history: string[] = [];
      for (const [n, [mib, pinned]] of sizes.entries()) {
        const id = await commit({ files: { large: randomBytes(mib * MIB), [`small/${n}`]: `${n}` } });
        await sandbox.sync({ repo, commit: id, earlier: [...history] });
        history.unshift(id);
        const there = await sandbox.clone.pins.commits();
        assert.deepEqual(new Set(there), new Set(history.slice(0, pinned)), `after ${n + 1} commits`);
      }
      await server.stop();
      await sandbox.restart();
      for (const [n, id] of history.slice(0, 2).entries()) {
        await sandbox.sync({ repo, commit: id, earlier: history });
        const names = Array.from({ length: sizes.length - n }, (_, index) => `small/${index}`);
        assert.deepEqual(Object.keys(await sandbox.files()), ['large', ...names]);
      }
      await assert.rejects(sandbox.sync({ repo, commit: history[2] ?? '', earlier: history }), {
        code: 'git.unreachable',
      });
    });
  });

  test('to files in Git LFS, which stay as long as the commit is pinned', async (t) => {
    const { server, lfs, repository, sandbox } = await startWorld(t, { inLfs: true });
    const { url: repo, commit } = repository;
    const contents = ['first', 'second', 'third'];
    const pointers = contents.map((content) => lfs.add(content));
    const [first = '', second = '', third = ''] = await commitEach(pointers, (a) => commit({ files: { a, b: 'b' } }));
    const sync = async (id: string, ...earlier: string[]) => {
      await sandbox.sync({ repo, commit: id, earlier });
      await sandbox.tidy();
      return (await sandbox.files()).a;
    };
    assert.equal(await sync(first), 'first');
    assert.equal(await sync(second, first), 'second');
    await server.stop();
    await sandbox.restart();
    assert.equal(await sync(first, second), 'first');
    assert.equal(await sync(second, first), 'second');
    assert.equal(await sync(first, second), 'first');
    // Content of commits that are no longer pinned takes no space.
    assert.equal((await storedIn(sandbox)).length, 2);
    assert.equal(await sync(first), 'first');
    assert.equal((await storedIn(sandbox)).length, 1);
    await assert.rejects(sync(third, first));
    await assert.rejects(sync(second, first));
  });

  test('to files in Git LFS, unless they filled the volume of the clone', async (t) => {
    const { lfs, repository, sandbox } = await startWorld(t, { inLfs: true });
    const { url: repo, commit } = repository;
    await withSmallVolume(t, { path: sandbox.repo }, async () => {
      const history: string[] = [];
      for (const stored of [1, 2, 3, 1]) {
        const id = await commit({ files: { a: lfs.add(`${history.length}`.repeat(5 * MIB)) } });
        await sandbox.sync({ repo, commit: id, earlier: [...history] });
        await sandbox.tidy();
        history.unshift(id);
        assert.equal((await storedIn(sandbox)).length, stored, `after ${history.length} commits`);
        assert.equal((await sandbox.clone.pins.commits()).length, stored);
      }
    });
  });

  test('to submodules, even nested ones', async (t) => {
    const { server, repository, sandbox } = await startWorld(t);
    const lib = await server.createRepository('lib');
    const deep = await server.createRepository('deep');
    const modules = (at: string, url: string) => `[submodule "${at}"]\n\tpath = ${at}\n\turl = ${url}\n`;
    const inner = await deep.commit({ files: { d: 'deep' } });
    const linked = { '.gitmodules': modules('deep', '../deep.git'), deep: { submodule: inner } };
    const versions = await commitEach(['1', '2'], (l) => lib.commit({ files: { ...linked, l } }));
    const [first = '', second = ''] = await commitEach(versions, (submodule) =>
      repository.commit({ files: { '.gitmodules': modules('lib', '../lib.git'), lib: { submodule } } }),
    );
    const target = { repo: repository.url, submodules: true, profile: mapped('lib') };
    const sync = async (commit: string, ...earlier: string[]) => {
      await sandbox.sync({ ...target, commit, earlier });
      await sandbox.tidy();
      const files = await sandbox.files();
      return [files['lib/l'], files['lib/deep/d']];
    };
    assert.deepEqual(await sync(first), ['1', 'deep']);
    assert.deepEqual(await sync(second, first), ['2', 'deep']);
    await server.stop();
    await sandbox.restart();
    assert.deepEqual(await sync(first, second), ['1', 'deep']);
    assert.deepEqual(await sync(second, first), ['2', 'deep']);
    // The commit is there still; the submodule that was pinned for the other one is not.
    assert.deepEqual(await sync(second), ['2', 'deep']);
    await sandbox.restart();
    assert.deepEqual(await sandbox.clone.pins.commits(), [second]);
  });

  test('only to the requested commit, whatever the volume says', async (t) => {
    const { server, repository, sandbox } = await startWorld(t);
    const { url: repo, commit } = repository;
    const [first = '', second = ''] = await commitEach(['1', '2'], (a) => commit({ files: { a } }));
    await sandbox.sync({ repo, commit: first });
    await sandbox.sync({ repo, commit: second, earlier: [first] });
    await server.stop();
    const forged = ['--git-dir', sandbox.repo, 'update-ref', `refs/sync/pinned/${first}/commit`, second];
    await sandbox.git.run(forged);
    await sandbox.restart();
    await assert.rejects(sandbox.sync({ repo, commit: first, earlier: [second] }), { code: 'git.unreachable' });
    assert.deepEqual(await sandbox.files(), { a: '2' });
  });
});

/** In sequence: each has the previous one as its parent. */
async function commitEach<T>(values: T[], commit: (value: T) => Promise<string>): Promise<string[]> {
  const ids: string[] = [];
  for (const value of values) ids.push(await commit(value));
  return ids;
}
