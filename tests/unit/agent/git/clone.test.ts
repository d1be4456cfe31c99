import assert from 'node:assert/strict';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { accessTo, createRepository, gitSandbox } from '../support/git-sandbox.ts';
import { createSandbox } from '../support/sandbox.ts';
import { OldProtocolGit, TiredGit } from './support/other-gits.ts';

async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) => (entry.isFile() ? path.join(entry.parentPath, entry.name) : []));
}

suite('the clone of a repository', () => {
  test('tells whether it holds a commit without changing anything, and adopts a pinned commit', slow, async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'holds');
    const first = await commit({ files: { n: '1' } });
    assert.equal(await sandbox.isAtHand({ repo, commit: first }), false);
    await assert.rejects(readdir(sandbox.repo), { code: 'ENOENT' });
    await sandbox.sync({ repo, commit: first, earlier: [] });
    const second = await commit({ files: { n: '2' } });
    await sandbox.sync({ repo, commit: second, earlier: [first] });
    await writeFile(path.join(sandbox.repo, 'shallow.lock'), '');
    await sandbox.restart();
    const filesBefore = await filesBelow(sandbox.repo);
    const current = async () => (await readFile(path.join(sandbox.repo, 'refs/sync/current'), 'utf8')).trim();
    for (const id of [first, second]) assert.equal(await sandbox.clone.repository.holds(id), true);
    assert.equal(await sandbox.clone.repository.holds('1'.repeat(40)), false);
    assert.deepEqual([await filesBelow(sandbox.repo), await current()], [filesBefore, second]);
    assert.equal(await sandbox.clone.adopt(first), true);
    assert.equal(await current(), first);
    assert.ok(!(await readdir(sandbox.repo)).includes('shallow.lock'));
  });

  test("is repaired after a killed git, and replaces files that aren't a repository", slow, async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'heal');
    const damages: [string, () => Promise<unknown>][] = [
      ['a stale lock', () => writeFile(path.join(sandbox.repo, 'HEAD.lock'), '')],
      ['a stale lock of a ref', () => writeFile(path.join(sandbox.repo, 'refs/sync/current.lock'), '')],
      ['half a pack', () => writeFile(path.join(sandbox.repo, 'objects/pack/tmp_pack_x'), 'half')],
      ['an empty HEAD', () => writeFile(path.join(sandbox.repo, 'HEAD'), '')],
      ['a damaged ref', () => writeFile(path.join(sandbox.repo, 'refs/sync/current'), 'x')],
      ['missing packs', () => rm(path.join(sandbox.repo, 'objects/pack'), { recursive: true })],
      ['a damaged configuration', () => writeFile(path.join(sandbox.repo, 'config'), '[[')],
    ];
    await sandbox.sync({ repo, commit: await commit({ files: { n: '0' } }) });
    for (const [index, [name, damage]] of damages.entries()) {
      await damage();
      await sandbox.restart();
      const target = { repo, commit: await commit({ files: { n: `${index + 1}` } }) };
      // One failure may pass before the repository is suspected.
      await sandbox.sync(target).catch(() => sandbox.sync(target));
      const left = (await filesBelow(sandbox.repo)).filter((file) => /\.lock$|tmp_pack/.test(file));
      assert.deepEqual([await sandbox.files(), left], [{ n: `${index + 1}` }, []], name);
    }
  });

  test("keeps its content if git can't be started", slow, async (t) => {
    const git = new TiredGit();
    const { repo, commit, sandbox } = await gitSandbox(t, 'tired', { git });
    const earlier = [await commit({ files: { a: '1' } })];
    await sandbox.sync({ repo, commit: earlier[0] ?? '', earlier });
    const target = { repo, commit: await commit({ files: { a: '2' } }), earlier };
    await sandbox.sync(target);
    const { fetches } = sandbox;
    for (const command of ['init', 'rev-parse', 'ls-tree', 'cat-file', 'for-each-ref']) {
      await sandbox.restart();
      await rm(path.join(sandbox.data, 'a'));
      git.refused = command;
      const isForTidying = command === 'for-each-ref';
      const run = isForTidying ? sandbox.tidy() : sandbox.sync(target);
      await assert.rejects(run, { name: 'TransientError', code: 'git.notStarted' }, command);
      git.refused = '';
      await sandbox.sync(target);
      assert.deepEqual([await sandbox.files(), sandbox.fetches], [{ a: '2' }, fetches], command);
      assert.deepEqual(new Set(await sandbox.clone.pins.commits()), new Set([target.commit, ...earlier]), command);
    }
  });

  test('fetches a commit that no branch contains any longer', async (t) => {
    const { repo, commit, repository, sandbox } = await gitSandbox(t, 'moved');
    await commit({ files: { a: '0' } });
    const old = await commit({ files: { a: '1' } });
    await repository.forcePush({ files: { a: '2' } });
    await sandbox.sync({ repo, commit: old });
    assert.deepEqual(await sandbox.files(), { a: '1' });
  });

  test("falls back to the ref if the server doesn't serve commits by ID, and verifies the result", slow, async (t) => {
    const git = new OldProtocolGit(process.env);
    const { repository, sandbox } = await gitSandbox(t, 'refs-only', { git });
    for (const key of ['allowTipSHA1InWant', 'allowReachableSHA1InWant']) {
      await repository.git('config', `uploadpack.${key}`, 'false');
    }
    const tagged = await repository.commit({ files: { a: '1' } });
    await repository.tag('v1', { annotated: true });
    await repository.commit({ files: { a: '2' } });
    await sandbox.sync({ repo: repository.url, commit: tagged, ref: 'v1' });
    assert.deepEqual(await sandbox.files(), { a: '1' });
    const other = await createSandbox(t, { git });
    await assert.rejects(other.sync({ repo: repository.url, commit: tagged, ref: 'main' }), {
      name: 'TransientError',
      code: 'git.commitNotServed',
    });
    assert.deepEqual(await other.files(), {});
  });

  test('never treats text as an option or as another transport', async (t) => {
    const sandbox = await createSandbox(t);
    const mark = path.join(sandbox.directory, 'mark');
    const commit = 'a'.repeat(40);
    for (const repo of [`--upload-pack=touch ${mark}`, `ext::touch ${mark}`, `file://${sandbox.directory}`])
      await assert.rejects(sandbox.sync({ repo, commit }), { code: 'git.url' });
    const { url: repo } = await createRepository('empty');
    await assert.rejects(sandbox.sync({ repo, commit, ref: `--upload-pack=touch ${mark}` }));
    await assert.rejects(stat(mark), { code: 'ENOENT' });
  });

  test('never stores a credential, and uses a new one at once', slow, async (t) => {
    const server = await gitServerFor(t, { tls: true, credentials: { password: 'first-secret' } });
    const files = await accessTo(t, server);
    const { tokenFile } = files;
    await rm(tokenFile);
    const { repo, commit, sandbox } = await gitSandbox(t, 'private', { server, files });
    const first = await commit({ files: { a: '1' } });
    await assert.rejects(sandbox.sync({ repo, commit: first }), { name: 'TransientError', code: 'git.credentials' });
    await writeFile(tokenFile, 'first-secret\n');
    await sandbox.sync({ repo, commit: first });
    server.credentials = { password: 'second-secret' };
    const second = await commit({ files: { a: '2' } });
    await assert.rejects(sandbox.sync({ repo, commit: second }), { code: 'git.authentication' });
    await writeFile(tokenFile, 'second-secret');
    await sandbox.sync({ repo, commit: second });
    assert.deepEqual(await sandbox.files(), { a: '2' });
    for (const file of await filesBelow(sandbox.repo)) {
      const content = await readFile(file, 'latin1');
      assert.ok(!/secret|127\.0\.0\.1/.test(content), `${file} tells of the host or the credential`);
    }
  });
});
