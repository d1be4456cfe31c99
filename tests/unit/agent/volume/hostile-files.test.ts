import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { emptyManifest } from '../../../../agent/plan/manifest.ts';
import type { DesiredFile } from '../../../../agent/plan/plan-input.ts';
import { scanTree } from '../../../../agent/volume/scan-tree.ts';
import { type GitServer, startGitServer } from '../../../../scripts/testbed/git-server.ts';
import { gitSandbox } from '../support/git-sandbox.ts';

const TIB = 1024 ** 4;

let server: GitServer;
before(async () => {
  server = await startGitServer();
});
after(() => server.stop());

/** A sandbox with `d/a` in it. */
async function prepare(t: TestContext) {
  const { repo, commit, sandbox } = await gitSandbox(t, 'hostile', { server });
  const target = { repo, commit: await commit({ files: { 'd/a': '1', x: 'x' } }) };
  await sandbox.sync(target);
  const at = (name: string) => path.join(sandbox.data, name);
  return { sandbox, target, commit, at, file: at('d/a') };
}

/** Runs a function once, right after the status of a file was read. */
function afterLook(t: TestContext, file: string, act: () => void): void {
  const { lstatSync } = fs;
  const mock = t.mock.method(fs, 'lstatSync', ((looked: string, options?: fs.StatSyncOptions) => {
    const stats = lstatSync(looked, options);
    if (looked !== file) return stats;
    mock.mock.restore();
    syncBuiltinESMExports();
    act();
    return stats;
  }) as typeof lstatSync);
  syncBuiltinESMExports();
}

suite("a gateway can't block the agent", { timeout: 250_000 }, () => {
  test('with a file that claims to be larger than all disks, which is repaired', async (t) => {
    const { sandbox, target, file, commit } = await prepare(t);
    fs.truncateSync(file, 4 * TIB);
    await sandbox.sync(target);
    assert.equal(fs.readFileSync(file, 'utf8'), '1');
    fs.truncateSync(file, 4 * TIB);
    await sandbox.sync({ ...target, commit: await commit({ files: { 'd/a': '2' } }) });
    assert.equal(fs.readFileSync(file, 'utf8'), '2');
  });

  test('with a foreign file that claims to be that large, which stays', async (t) => {
    const { sandbox, target, at, commit } = await prepare(t);
    fs.closeSync(fs.openSync(at('new'), 'w'));
    fs.truncateSync(at('new'), 4 * TIB);
    const next = { ...target, commit: await commit({ files: { new: '1' } }) };
    await assert.rejects(sandbox.sync(next), { reason: 'TakenOverFull' });
    assert.equal(fs.statSync(at('new')).size, 4 * TIB);
  });

  test('with a large file, because reading stops with the sync', async (t) => {
    const { sandbox, target, at, commit } = await prepare(t);
    fs.closeSync(fs.openSync(at('new'), 'w'));
    fs.truncateSync(at('new'), 1024 ** 3);
    const next = { ...target, commit: await commit({ files: { new: '1' } }) };
    const stopping = new AbortController();
    afterLook(t, at('new'), () => setImmediate(() => stopping.abort(new Error('told to stop'))));
    await assert.rejects(sandbox.sync(next, stopping.signal), /told to stop/);
    assert.equal(fs.statSync(at('new')).size, 1024 ** 3);
  });

  test("with a directory that becomes a link during a check, which isn't followed", async (t) => {
    const { sandbox, target, at, commit } = await prepare(t);
    const next = { ...target, commit: await commit({ files: { 'd/zero': '1' } }) };
    fs.writeFileSync(at('d/zero'), 'theirs');
    afterLook(t, at('d/zero'), () => {
      fs.renameSync(at('d'), at('e'));
      fs.symlinkSync('/dev', at('d'));
    });
    await assert.rejects(sandbox.sync(next), { code: 'data.symbolicLink' });
    assert.equal(fs.readFileSync(at('e/zero'), 'utf8'), 'theirs');
  });

  test('with a pipe in the place of a file, which is replaced', async (t) => {
    const { sandbox, target, file } = await prepare(t);
    fs.writeFileSync(file, '2');
    await sandbox.restart();
    let reader = -1;
    t.after(() => fs.closeSync(reader));
    afterLook(t, file, () => {
      fs.rmSync(file);
      execFileSync('mkfifo', [file]);
      reader = fs.openSync(file, fs.constants.O_RDWR);
    });
    await sandbox.sync(target);
    assert.equal(fs.readFileSync(file, 'utf8'), '1');
  });

  test('with a directory in the place of a file, which is listed up to the first foreign entry', async (t) => {
    const { sandbox, target, at, commit } = await prepare(t);
    const next = { ...target, commit: await commit({ files: { d: '1', 'd/a': null } }) };
    for (let n = 0; n < 500; n += 1) fs.mkdirSync(at(`d/${n}/x`), { recursive: true });
    await assert.rejects(sandbox.sync(next), { reason: 'PathConflict', message: /^d is a directory .* with files/ });
    const desired = {
      files: new Map([['d', {} as DesiredFile]]),
      directories: new Set<string>(),
      retained: new Set<string>(),
    };
    const live = await scanTree(sandbox.root, { desired, manifest: emptyManifest(), algorithm: 'sha1' });
    const found = live.get('d');
    assert.ok(found?.kind === 'directory');
    assert.equal(found.content?.length, 1);
  });
});
