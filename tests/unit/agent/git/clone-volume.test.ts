import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { CLONE_VOLUME } from '../../../../agent/disk/volume-error.ts';
import { describeFailure } from '../../../../agent/report/describe-failure.ts';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import { Git, type GitOptions } from '../../../../shared/io/git/git.ts';
import { slow } from '../../../support/depth.ts';
import { createRepository, gitSandbox } from '../support/git-sandbox.ts';
import { createSandbox } from '../support/sandbox.ts';
import { withSmallVolume } from '../support/small-volume.ts';

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
    const git = new FullGit(3);
    const { repo, commit, sandbox } = await gitSandbox(t, 'x', { git });
    for (let n = 0; n < 6; n += 1) {
      await sandbox.sync({ repo, commit: await commit({ files: { f: `${n}` } }) });
      assert.deepEqual(await sandbox.files(), { f: `${n}` });
    }
  });

  test("is emptied only once for a commit that doesn't fit", async (t) => {
    const git = new FullGit(0);
    const { repo, commit, sandbox } = await gitSandbox(t, 'x', { git });
    const target = { repo, commit: await commit({ files: { f: '1' } }) };
    const tries = [];
    for (let n = 0; n < 3; n += 1) {
      await assert.rejects(sandbox.sync(target), { code: 'git.noSpace', message: new RegExp(target.commit) });
      tries.push(git.fetches);
    }
    assert.deepEqual(tries, [2, 3, 4]);
  });

  test("is named in the error, not the git server, if it can't hold more files", slow, async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'x');
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
    const others = codes.filter((code) => code !== 'git.noSpace');
    assert.deepEqual(others, []);
  });

  test('is named in the error, not the data volume, if it is read-only', slow, async (t) => {
    const { repo, commit, sandbox } = await gitSandbox(t, 'x');
    await withSmallVolume(t, { path: sandbox.repo }, async () => {
      await sandbox.sync({ repo, commit: await commit({ files: { f: '1' } }) });
      await writeFile(path.join(sandbox.repo, 'objects/pack/tmp_pack_x'), 'left by a kill');
      await runCommand('mount', ['-o', 'remount,ro', sandbox.repo]);
      const target = { repo, commit: await commit({ files: { f: '2' } }) };
      for (const state of ['running', 'restarted']) {
        const failure = describeFailure(await sandbox.sync(target).catch((error) => error));
        assert.equal(failure.code, 'volume.EROFS', state);
        assert.ok(failure.message.includes(CLONE_VOLUME), state);
        await sandbox.restart();
      }
      await runCommand('mount', ['-o', 'remount,rw', sandbox.repo]);
      await sandbox.sync(target);
      assert.deepEqual(await sandbox.files(), { f: '2' });
    });
  });

  test('accepts a repository with the other object format', slow, async (t) => {
    const old = await createRepository('old');
    const next = await createRepository('next');
    await rm(path.join(next.path, 'config'));
    await rm(path.join(next.path, 'objects'), { recursive: true });
    await next.git('init', '--quiet', '--bare', '--object-format=sha256');
    const sandbox = await createSandbox(t);
    const first = { repo: old.url, commit: await old.commit({ files: { f: '1' } }) };
    const second = { repo: next.url, commit: await next.commit({ files: { f: '2' } }) };
    assert.equal(second.commit.length, 64);
    await sandbox.sync(first);
    await sandbox.sync(second);
    assert.deepEqual(await sandbox.files(), { f: '2' });
    assert.deepEqual((await sandbox.sync(second)).plan.changes, []);
    await sandbox.sync(first);
    assert.deepEqual(await sandbox.files(), { f: '1' });
  });
});
