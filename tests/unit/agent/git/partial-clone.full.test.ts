import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFile, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { tidyClone } from '../../../../agent/git/tidy-clone.ts';
import type { GitRepository } from '../../../../scripts/testbed/git-repository.ts';
import { Git, type GitOptions, killGroup } from '../../../../shared/io/git/git.ts';
import { gitDaemonFor, shareGitServer } from '../../../support/git-server-for.ts';
import { gitSandbox } from '../support/git-sandbox.ts';
import { mapped, type Sandbox } from '../support/sandbox.ts';
import { OldProtocolGit } from './support/other-gits.ts';

const KIB = 1024;
/** More than an agent takes along unasked. */
const large = () => randomBytes(200 * KIB).toString('base64');
const server = await shareGitServer();

/** Whether the agent's clone holds the file of the commit. */
async function holds(sandbox: Sandbox, repository: GitRepository, revision: string): Promise<boolean> {
  const id = await repository.git('rev-parse', revision);
  const args = [`--git-dir=${sandbox.repo}`, 'cat-file', '--batch-all-objects', '--batch-check=%(objectname)'];
  return (await sandbox.git.run(args)).toString('latin1').includes(id);
}

const fetches = () => server.requests.filter(({ command }) => command === 'fetch').length;

suite('a clone fetches only mapped files', () => {
  test('in one request with the small files next to them, if no large file is mapped', async (t) => {
    const { repo, commit, repository, sandbox } = await gitSandbox(t, 'partial', { server });
    const first = await commit({ files: { 'config/a': '1', 'config/b': large(), 'media/film': large(), readme: 'r' } });
    await sandbox.sync({ repo, commit: first, profile: mapped('config') });
    assert.deepEqual(Object.keys(await sandbox.files()), ['config/a', 'config/b']);
    assert.equal(await holds(sandbox, repository, `${first}:media/film`), false);
    assert.equal(await holds(sandbox, repository, `${first}:readme`), true);
    const before = fetches();
    await sandbox.restart();
    const second = await commit({ files: { 'config/a': '2', 'media/next': large(), readme: 'r2' } });
    await sandbox.sync({ repo, commit: second, profile: mapped('config') });
    assert.equal((await sandbox.files())['config/a'], '2');
    assert.equal(await holds(sandbox, repository, `${second}:media/next`), false);
    assert.equal(fetches() - before, 1);
  });

  test('in two requests, if a commit has many other files', async (t) => {
    const { repo, commit, repository, sandbox } = await gitSandbox(t, 'partial', { server });
    const before = fetches();
    const others = Object.fromEntries(Array.from({ length: 1_500 }, (_, n) => [`other/${n}`, `${n}`]));
    const first = await commit({ files: { ...others, 'config/a': '1', 'config/b': large(), readme: 'r' } });
    await sandbox.sync({ repo, commit: first, profile: mapped('config') });
    assert.deepEqual(Object.keys(await sandbox.files()), ['config/a', 'config/b']);
    assert.equal(await holds(sandbox, repository, `${first}:readme`), false);
    assert.equal(fetches() - before, 2);
    // A server sends files like these as differences from earlier ones, which are not here.
    const changed = Object.fromEntries(Object.keys(others).map((name) => [name, `${name} changed`]));
    const second = await commit({ files: { ...changed, 'config/a': '2' } });
    await sandbox.sync({ repo, commit: second, profile: mapped('config') });
    assert.equal((await sandbox.files())['config/a'], '2');
    assert.equal(await holds(sandbox, repository, `${second}:other/1`), false);
    assert.equal(fetches() - before, 4);
  });

  test('in one request with all but large files, if most of many files are mapped', async (t) => {
    const { repo, commit, repository, sandbox } = await gitSandbox(t, 'partial', { server });
    const many = Object.fromEntries(Array.from({ length: 1_500 }, (_, n) => [`config/${n % 7}/${n}`, `${n}`]));
    const first = await commit({ files: { ...many, 'config/b': large(), 'media/film': large(), readme: 'r' } });
    await sandbox.sync({ repo, commit: first, profile: mapped('config') });
    assert.equal(Object.keys(await sandbox.files()).length, 1_501);
    assert.equal(await holds(sandbox, repository, `${first}:readme`), true);
    assert.equal(await holds(sandbox, repository, `${first}:media/film`), false);
  });

  test('and the omitted ones when a mapping is added later', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'partial', { server });
    const target = { repo, commit: await commit({ files: { 'config/a': '1', 'media/film': large(), 'x/y': '2' } }) };
    await sandbox.sync({ ...target, profile: mapped('config') });
    await sandbox.restart();
    await sandbox.sync({ ...target, profile: mapped('config', 'media') });
    assert.deepEqual(Object.keys(await sandbox.files()), ['config/a', 'media/film']);
    await sandbox.sync({ ...target, profile: mapped('.') });
    assert.deepEqual(Object.keys(await sandbox.files()), ['config/a', 'media/film', 'x/y']);
    await rm(path.join(sandbox.data, 'x/y'));
    const requests = server.requests.length;
    await sandbox.sync({ ...target, profile: mapped('.') });
    assert.equal(server.requests.length, requests);
    assert.equal((await sandbox.files())['x/y'], '2');
  });

  test('even over many commits', async (t) => {
    const { repo, commit, repository, sandbox } = await gitSandbox(t, 'partial', { server });
    const first = await commit({ files: { 'config/a': '0', 'media/film': large() } });
    for (let n = 0; n < 32; n += 1) {
      const next = await commit({ files: { 'config/a': `${n} ${Math.random()}`, other: `${n}` } });
      await sandbox.sync({ repo, commit: next, profile: mapped('config') });
      await sandbox.clone.tidy();
    }
    const packs = (await readdir(path.join(sandbox.repo, 'objects/pack'))).filter((name) => name.endsWith('.pack'));
    assert.ok(packs.length < 5, `${packs.length} packs`);
    assert.equal(await holds(sandbox, repository, `${first}:config/a`), false);
    await sandbox.restart();
    const last = await commit({ files: { 'config/a': 'last', 'config/new': 'n' } });
    await sandbox.sync({ repo, commit: last, profile: mapped('config') });
    assert.deepEqual(await sandbox.files(), { 'config/a': 'last', 'config/new': 'n' });
    assert.equal(await holds(sandbox, repository, `${first}:media/film`), false);
  });
});

/** Kills git this number of times when it requests omitted files. */
class DyingGit extends Git {
  #lives: number;

  constructor(deaths: number) {
    super(process.env);
    this.#lives = deaths;
  }

  override spawn(args: string[], options: GitOptions): ChildProcess {
    const child = super.spawn(args, options);
    const isForFiles = args.includes('--refetch') || args.includes('--stdin');
    if (isForFiles && this.#lives-- > 0) child.stdin?.once('finish', () => killGroup(child));
    return child;
  }
}

suite('a partial clone works', () => {
  test('after the fetch of its files was interrupted', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'partial', { server, git: new DyingGit(2) });
    const target = { repo, commit: await commit({ files: { 'config/a': '1', b: '2' } }), profile: mapped('config') };
    await assert.rejects(sandbox.sync(target), { name: 'TransientError' });
    assert.deepEqual(await sandbox.files(), {});
    await sandbox.restart();
    await assert.rejects(sandbox.sync(target), { name: 'TransientError' });
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { 'config/a': '1' });
  });

  test('after a kill right before a merged pack was marked as a partial one', async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'partial', { server });
    const first = await commit({ files: { 'config/a': '1', 'config/b': large(), 'media/film': large() } });
    await sandbox.sync({ repo, commit: first, profile: mapped('config') });
    const inClone = ['-c', 'remote.sync.promisor=true', `--git-dir=${sandbox.repo}`];
    const list = ['rev-list', '--objects', '--no-object-names', '--missing=allow-promisor', '--all'];
    const input = await sandbox.git.run([...inClone, ...list]);
    const directory = path.join(sandbox.repo, 'objects/pack');
    const id =
      `${await sandbox.git.run([...inClone, 'pack-objects', '-q', path.join(directory, 'pack')], { input })}`.trim();
    for (let n = 0; n < 30; n += 1) {
      for (const ending of ['pack', 'idx']) {
        await copyFile(path.join(directory, `pack-${id}.${ending}`), path.join(directory, `pack-copy${n}.${ending}`));
      }
    }
    await tidyClone(sandbox.git, sandbox.repo, { isPartial: true, signal: undefined });
    assert.equal((await readdir(directory)).filter((name) => name.endsWith('.pack')).length, 1);
    await sandbox.restart();
    const second = await commit({ files: { 'config/a': '2' } });
    await sandbox.sync({ repo, commit: second, earlier: [first], profile: mapped('config') });
    assert.deepEqual(await sandbox.git.run([...inClone, ...list, '--quiet']), Buffer.alloc(0));
  });

  for (const others of [0, 1_500])
    test(`if the server can't omit files, and ${others} others are mapped`, async (t) => {
      const { repo, commit, repository, sandbox } = await gitSandbox(t, 'partial', { server });
      await repository.git('config', 'uploadpack.allowFilter', 'false');
      const many = Object.fromEntries(Array.from({ length: others }, (_, n) => [`config/${n}`, `${n}`]));
      const before = fetches();
      const first = await commit({ files: { ...many, 'config/a': '1', b: large() } });
      await sandbox.sync({ repo, commit: first, profile: mapped('config') });
      assert.equal(await holds(sandbox, repository, `${first}:b`), true);
      await sandbox.sync({ repo, commit: await commit({ files: { 'config/a': '2' } }), profile: mapped('config') });
      assert.equal((await sandbox.files())['config/a'], '2');
      assert.equal(fetches() - before, 2);
    });

  test("if the server omits files, and doesn't serve them by their IDs", async (t) => {
    const daemon = await gitDaemonFor(t);
    const git = new OldProtocolGit(process.env);
    const { repo, commit, sandbox } = await gitSandbox(t, 'no-blobs', { server: daemon, git });
    const first = await commit({ files: { 'config/a': '1', b: large() } });
    await sandbox.sync({ repo, commit: first, profile: mapped('config') });
    assert.deepEqual(await sandbox.files(), { 'config/a': '1' });
    const target = { repo, commit: await commit({ files: { 'config/a': '2', 'config/c': large() } }) };
    await sandbox.sync({ ...target, profile: mapped('config') });
    await sandbox.restart();
    await sandbox.sync({ ...target, profile: mapped('.') });
    assert.deepEqual(Object.keys(await sandbox.files()), ['b', 'config/a', 'config/c']);
  });

  test('after an inspection of a commit that such a server sends whole, with the server gone', async (t) => {
    const daemon = await gitDaemonFor(t);
    const git = new OldProtocolGit(process.env);
    const { repo, commit, repository, sandbox } = await gitSandbox(t, 'no-blobs', { server: daemon, git });
    await repository.git('config', 'uploadpack.allowReachableSHA1InWant', 'false');
    const mappings = [{ source: 'config', destination: 'config', required: true, template: true }];
    const target = { repo, commit: await commit({ files: { 'config/a': '1' } }), profile: { mappings } };
    await sandbox.sync(target);
    await repository.branch('other', target.commit);
    await commit({ files: { 'config/a': large() }, branch: 'other' });
    // Forgets the known properties of the server.
    await sandbox.restart();
    const { changes } = await sandbox.inspect({ kind: 'diff', ref: 'other' }, target);
    assert.equal(changes.length, 1);
    await daemon.stop();
    await sandbox.restart();
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { 'config/a': '1' });
  });
});
