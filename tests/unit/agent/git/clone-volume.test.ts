import assert from 'node:assert/strict';
import { type ChildProcess, execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { describeFailure } from '../../../../agent/report/describe-failure.ts';
import { Git, type GitOptions } from '../../../../shared/io/git/git.ts';
import { slow } from '../../../support/depth.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';
import { createLfsHost, createLfsRepository } from '../../../support/lfs-host.ts';
import { gitSandbox } from '../support/git-sandbox.ts';
import { createSandbox } from '../support/sandbox.ts';
import { withSmallVolume } from '../support/small-volume.ts';

const run = promisify(execFile);
const MIB = 1024 ** 2;

async function startServer(t: TestContext) {
  const server = await gitServerFor(t);
  return server;
}

/** A git whose disk has space for this number of packs. */
class FullGit extends Git {
  fetches = 0;
  readonly #room: number;

  constructor(room: number) {
    super(process.env);
    this.#room = room;
  }

  override spawn(args: string[], options: GitOptions): ChildProcess {
    if (!args.includes('fetch')) return super.spawn(args, options);
    this.fetches += 1;
    const gitDir = args.find((arg) => arg.startsWith('--git-dir='))?.slice('--git-dir='.length) ?? '';
    const packs = readdirSync(path.join(gitDir, 'objects/pack')).filter((name) => name.endsWith('.pack'));
    const isFull = packs.length >= this.#room;
    const room = path.join(gitDir, 'tmp_room'); // the path that the agent's check for space writes to is a directory
    rmSync(room, { recursive: true, force: true });
    if (!isFull) return super.spawn(args, options);
    mkdirSync(room);
    const full = '!echo "fatal: write error: No space left on device" >&2; exit 128';
    return super.spawn(['-c', `alias.full=${full}`, 'full'], options);
  }
}

suite('the volume of the clone', () => {
  test('is emptied for a commit if packs of earlier commits fill it', slow, async (t) => {
    const { url: repo, commit } = await (await startServer(t)).createRepository('x');
    const git = new FullGit(3);
    const sandbox = await createSandbox(t, { git });
    for (let n = 0; n < 6; n += 1) {
      await sandbox.sync({ repo, commit: await commit({ files: { f: `${n}` } }) });
      assert.deepEqual(await sandbox.files(), { f: `${n}` });
    }
    assert.equal(git.fetches, 7, 'one of them was tried twice');
  });

  test("is emptied only once for a commit that doesn't fit", async (t) => {
    const { url: repo, commit } = await (await startServer(t)).createRepository('x');
    const git = new FullGit(0);
    const sandbox = await createSandbox(t, { git });
    const target = { repo, commit: await commit({ files: { f: '1' } }) };
    const tries = [];
    for (let n = 0; n < 3; n += 1) {
      await assert.rejects(sandbox.sync(target), {
        name: 'TransientError',
        code: 'git.noSpace',
        message: /^the clone volume \(REPO_PATH\) is full even after it was emptied for commit [0-9a-f]{40}: /,
      });
      tries.push(git.fetches);
    }
    assert.deepEqual(tries, [2, 3, 4]);
  });

  test('makes room for Git LFS files as well', slow, async (t) => {
    const server = await startServer(t);
    const lfs = createLfsHost(`${server.url}/x.git/info/lfs/objects`);
    server.lfs = lfs.listener;
    const { url: repo, commit } = await createLfsRepository(server);
    const sandbox = await createSandbox(t);
    await withSmallVolume(t, { path: sandbox.repo }, async () => {
      for (let n = 0; n < 2; n += 1) {
        await sandbox.sync({ repo, commit: await commit({ files: { f: randomBytes(5 * MIB) } }) });
      }
      const large = lfs.add('x'.repeat(8 * MIB));
      await sandbox.sync({ repo, commit: await commit({ files: { f: large } }) });
      assert.equal((await sandbox.files()).f?.length, 8 * MIB);
    });
  });

  test("is named in the error, not the git server, if it can't hold more files", slow, async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'x', { server: await startServer(t) });
    const target = { repo, commit: await commit({ files: { f: '1' } }) };
    const codes: string[] = [];
    let isEnough = false;
    for (let inodes = 10; !isEnough; inodes += 1) {
      isEnough = true;
      await withSmallVolume(t, { path: sandbox.repo, inodes }, async () => {
        const error = await sandbox.sync(target).then(() => undefined, describeFailure);
        isEnough = error === undefined;
        if (error) codes.push(error.code);
      });
    }
    assert.deepEqual(
      codes.filter((code) => code !== 'git.noSpace'),
      [],
    );
  });

  test('is named in the error, not the data volume, if it is read-only', slow, async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'x', { server: await startServer(t) });
    await withSmallVolume(t, { path: sandbox.repo }, async () => {
      await sandbox.sync({ repo, commit: await commit({ files: { f: '1' } }) });
      await writeFile(path.join(sandbox.repo, 'objects/pack/tmp_pack_x'), 'left by a kill');
      await run('mount', ['-o', 'remount,ro', sandbox.repo]);
      const target = { repo, commit: await commit({ files: { f: '2' } }) };
      for (const state of ['running', 'restarted']) {
        const failure = describeFailure(await sandbox.sync(target).catch((error) => error));
        assert.equal(failure.code, 'volume.EROFS', state);
        assert.match(failure.message, /^the clone volume \(REPO_PATH\) is mounted read-only/, state);
        await sandbox.restart();
      }
      await run('mount', ['-o', 'remount,rw', sandbox.repo]);
      await sandbox.sync(target);
      assert.deepEqual(await sandbox.files(), { f: '2' });
    });
  });

  test('accepts a repository with the other object format', slow, async (t) => {
    const server = await startServer(t);
    const old = await server.createRepository('old');
    const next = await server.createRepository('next');
    await rm(next.path, { recursive: true });
    await run('git', ['init', '-q', '--bare', '--object-format=sha256', '--initial-branch=main', next.path]);
    for (const key of ['allowFilter', 'allowTipSHA1InWant', 'allowReachableSHA1InWant']) {
      await next.git('config', `uploadpack.${key}`, 'true');
    }
    const sandbox = await createSandbox(t);
    const commits = [await old.commit({ files: { f: '1' } }), await next.commit({ files: { f: '2' } })] as const;
    await sandbox.sync({ repo: old.url, commit: commits[0] });
    await sandbox.sync({ repo: next.url, commit: commits[1] });
    assert.deepEqual(await sandbox.files(), { f: '2' });
    await sandbox.sync({ repo: old.url, commit: commits[0] });
    assert.deepEqual(await sandbox.files(), { f: '1' });
  });
});
