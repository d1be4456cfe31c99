import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { suite, type TestContext, test } from 'node:test';
import { emptyManifest } from '../../../../agent/plan/manifest.ts';
import type { DesiredFile } from '../../../../agent/plan/plan-input.ts';
import { scanTree } from '../../../../agent/volume/scan/scan-tree.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { mockCalls } from '../support/mock-calls.ts';

const TIB = 1024 ** 4;

/** A sandbox with `d/a` in it. */
async function prepare(t: TestContext) {
  const local = await localSandbox(t);
  await local.deliver({ 'd/a': '1', x: 'x' });
  return { ...local, file: local.at('d/a') };
}

/** Runs a function once, right after the status of a file was read. */
function afterLook(t: TestContext, file: string, act: () => void): void {
  const end = mockCalls(t, ['lstatSync'], (_, args, real) => {
    const stats = real(...args);
    if (args[0] !== file) return stats;
    end();
    act();
    return stats;
  });
}

/** Writes a sparse file. */
function writeSparse(file: string, size: number): void {
  fs.closeSync(fs.openSync(file, 'w'));
  fs.truncateSync(file, size);
}

suite("a gateway can't block the agent", { timeout: 250_000 }, () => {
  test('with a file that claims to be larger than all disks, which is repaired', async (t) => {
    const { file, sync, deliver } = await prepare(t);
    fs.truncateSync(file, 4 * TIB);
    await sync();
    assert.equal(fs.readFileSync(file, 'utf8'), '1');
    fs.truncateSync(file, 4 * TIB);
    await deliver({ 'd/a': '2' });
    assert.equal(fs.readFileSync(file, 'utf8'), '2');
  });

  test('with a foreign file that claims to be that large, which stays', async (t) => {
    const { at, deliver } = await prepare(t);
    writeSparse(at('new'), 4 * TIB);
    await assert.rejects(deliver({ new: '1' }), { reason: 'TakenOverFull' });
    assert.equal(fs.statSync(at('new')).size, 4 * TIB);
  });

  test('with a large file, because reading stops with the sync', async (t) => {
    const { repo, commit, sandbox, at } = await prepare(t);
    writeSparse(at('new'), 1024 ** 3);
    const next = { repo, commit: await commit({ files: { new: '1' } }) };
    const stopping = new AbortController();
    afterLook(t, at('new'), () => setImmediate(() => stopping.abort(new Error('told to stop'))));
    await assert.rejects(sandbox.sync(next, stopping.signal), /told to stop/);
    assert.equal(fs.statSync(at('new')).size, 1024 ** 3);
  });

  test("with a directory that becomes a link during a check, which isn't followed", async (t) => {
    const { at, deliver } = await prepare(t);
    fs.writeFileSync(at('d/zero'), 'theirs');
    afterLook(t, at('d/zero'), () => {
      fs.renameSync(at('d'), at('e'));
      fs.symlinkSync('/dev', at('d'));
    });
    await assert.rejects(deliver({ 'd/zero': '1' }), { code: 'data.symbolicLink' });
    assert.equal(fs.readFileSync(at('e/zero'), 'utf8'), 'theirs');
  });

  test('with a pipe in the place of a file, which is replaced', async (t) => {
    const { sandbox, file, sync } = await prepare(t);
    fs.writeFileSync(file, '2');
    await sandbox.restart();
    let reader = -1;
    t.after(() => fs.closeSync(reader));
    afterLook(t, file, () => {
      fs.rmSync(file);
      execFileSync('mkfifo', [file]);
      reader = fs.openSync(file, fs.constants.O_RDWR);
    });
    await sync();
    assert.equal(fs.readFileSync(file, 'utf8'), '1');
  });

  test('with a directory in the place of a file, which is listed up to the first foreign entry', async (t) => {
    const { sandbox, at, deliver } = await prepare(t);
    for (let n = 0; n < 500; n += 1) fs.mkdirSync(at(`d/${n}/x`), { recursive: true });
    await assert.rejects(deliver({ d: '1', 'd/a': null }), { reason: 'PathConflict', message: /^d / });
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
