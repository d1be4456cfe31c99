import assert from 'node:assert/strict';
import { chmod, rm } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import type { Captured } from '../../../../cli/capture/capture-files.ts';
import { type Edit, WorkTree } from '../../../../cli/capture/work-tree.ts';
import { slow } from '../../../support/depth.ts';
import { captureWorld, filesIn, refusedIn } from './capture-world.ts';

const FILES = { 'config/a.txt': 'one\n', 'config/b.txt': 'b\n' };
const mappings = [{ source: 'config', destination: 'etc' }];

async function arrange(t: TestContext, files = {}, profile = {}) {
  const world = await captureWorld(t, { ...FILES, ...files }, { mappings, ...profile } as never);
  await world.git('config', 'user.name', 'Ann');
  await world.git('config', 'user.email', 'ann@example.com');
  return world;
}

type World = Awaited<ReturnType<typeof arrange>>;

/** Writes and commits what was captured, and returns what became of each file. */
async function commit({ checkout }: World, { files }: Captured, before: () => Promise<unknown> = async () => {}) {
  const tree = await WorkTree.open(checkout);
  const prepared = await tree.prepare(files);
  const edits: Edit[] = prepared.flatMap(({ result }) => (result.kind === 'edit' ? [result.edit] : []));
  await before();
  await tree.write(edits);
  if (edits.length > 0) await tree.commit(edits, 'Capture');
  const words = prepared.map(({ file, result }) => [
    file.source,
    result.kind === 'refused' ? result.code : result.kind,
  ]);
  return Object.fromEntries(words) as Record<string, string>;
}

const changes = async ({ git }: World) =>
  (await git('diff', '--name-status', 'origin/main', 'HEAD')).split('\n').filter(Boolean).sort();
const shown = ({ git }: World, file: string) => git('show', `HEAD:${file}`);
const head = async ({ git }: World) => ({ commitWithModules: (await git('rev-parse', 'HEAD')).trim() });

suite('a commit of captured files has exactly their bytes and modes', () => {
  test('although captured attributes would convert others, and a captured pattern would ignore them', async (t) => {
    const world = await arrange(t);
    await world.edit('etc/.gitattributes', '*.txt text\n');
    await world.edit('etc/.gitignore', '*\n');
    await world.edit('etc/a.txt', 'by hand\r\n');
    await world.edit('etc/new.txt', 'new\r\n');
    await commit(world, await world.take());
    assert.equal(await shown(world, 'config/a.txt'), 'by hand\r\n');
    assert.equal(await shown(world, 'config/new.txt'), 'new\r\n');
    assert.equal((await changes(world)).length, 4);
  });

  test('although git ignores executable bits, signs commits, and skips files', slow, async (t) => {
    const world = await arrange(t);
    for (const [name, value] of [
      ['core.fileMode', 'false'],
      ['commit.gpgSign', 'true'],
      ['gpg.program', '/bin/false'],
    ] as const)
      await world.git('config', name, value);
    await world.git('update-index', '--skip-worktree', 'config/a.txt');
    await world.edit('etc/a.txt', 'by hand\n');
    await world.edit('etc/run.sh', '#!/bin/sh\n');
    await chmod(world.at('etc/run.sh'), 0o755);
    await commit(world, await world.take());
    assert.equal(await shown(world, 'config/a.txt'), 'by hand\n');
    assert.match(await world.git('ls-tree', 'HEAD', 'config/run.sh'), /^100755 /);
  });

  test('and nothing else, whatever is staged or removed on the disk', async (t) => {
    const world = await arrange(t);
    await world.editClone('config/n/x', 'in git since\n');
    await world.git('add', '.');
    await world.git('commit', '-qm', 'later');
    await rm(path.join(world.clone, 'config/n'), { recursive: true });
    await world.editClone('config/b.txt', 'staged\n');
    await world.git('add', 'config/b.txt');
    await world.edit('etc/n', 'a file in its place\n');
    await world.edit('etc/a.txt', 'by hand\n');
    const said = await commit(world, await world.take());
    assert.deepEqual(said, { 'config/a.txt': 'edit', 'config/n': 'dirty' });
    assert.equal(await world.git('diff', '--name-only', 'HEAD~1', 'HEAD'), 'config/a.txt\n');
    assert.equal(await world.git('diff', '--cached', '--name-only'), 'config/b.txt\n');
  });
});

suite('a capture does not touch', () => {
  test('an uncommitted mode, or a file with a conflict', slow, async (t) => {
    const world = await arrange(t);
    await world.git('switch', '-qc', 'side');
    await world.git('rm', '-q', 'config/b.txt');
    await world.git('commit', '-qm', 'deleted');
    await world.git('switch', '-q', 'main');
    await world.editClone('config/b.txt', 'ours\n');
    await world.git('commit', '-qam', 'ours');
    await world.git('merge', 'side').catch(() => {});
    await chmod(path.join(world.clone, 'config/a.txt'), 0o755);
    await world.edit('etc/a.txt', 'by hand\n');
    await world.edit('etc/b.txt', 'by hand\n');
    assert.deepEqual(await commit(world, await world.take()), { 'config/a.txt': 'dirty', 'config/b.txt': 'dirty' });
  });

  test('a file that is saved, or a branch that is switched, at the last moment', async (t) => {
    const world = await arrange(t);
    await world.edit('etc/a.txt', 'by hand\n');
    const save = () => world.editClone('config/a.txt', 'an hour of work\n');
    await assert.rejects(commit(world, await world.take(), save), { name: 'Problem' });
    assert.equal(await world.inClone('config/a.txt'), 'an hour of work\n');
    await world.git('checkout', '-q', 'config/a.txt');
    const leave = async () => {
      await world.git('switch', '-qc', 'side');
      await world.git('commit', '-q', '--allow-empty', '-m', 'side');
    };
    await assert.rejects(commit(world, await world.take(), leave), { code: 'CheckoutInvalid' });
    assert.equal(await world.inClone('config/a.txt'), 'one\n');
  });

  test('a binary file that changed on both sides, and takes the others', slow, async (t) => {
    const world = await arrange(t, { 'config/p.bin': 'a\0a' });
    await world.edit('etc/p.bin', 'a\0b');
    await world.edit('etc/a.txt', 'by hand\n');
    await world.editClone('config/p.bin', 'a\0c');
    await world.git('commit', '-qam', 'later');
    const said = await commit(world, await world.take());
    assert.deepEqual(said, { 'config/a.txt': 'edit', 'config/p.bin': 'unmergeable' });
  });
});

suite('a captured file that was new', () => {
  test('can be captured again', async (t) => {
    const world = await arrange(t);
    await world.edit('etc/new.json', '{"a": 1}');
    await world.put(await world.take());
    await world.pushAndSync();
    await world.edit('etc/new.json', '{"a": 2}');
    const taken = await world.take(await head(world));
    assert.deepEqual([refusedIn(taken), filesIn(taken)], [{}, { 'config/new.json': '{"a": 2}' }]);
  });

  for (const onConflict of ['takeOver', 'refuse'] as const)
    test(`keeps a second edit with drift: report and onConflict: ${onConflict}`, slow, async (t) => {
      const world = await arrange(t, {}, { onConflict });
      await world.edit('etc/new.txt', 'first');
      await world.put(await world.take());
      await world.pushAndSync();
      await world.edit('etc/new.txt', 'second');
      const profile = { drift: 'report' as const, mappings, onConflict, excludePatterns: ['another'] };
      const { commitWithModules } = await head(world);
      await world.sandbox.sync({ repo: world.repository.url, commit: commitWithModules, profile } as never);
      assert.equal((await world.sandbox.files())['etc/new.txt'], 'second');
    });
});
