import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, chown, lstat, mkdir, readFile, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { touchFile } from '../../../../../agent/volume/moves/touch-file.ts';
import { DataRoot } from '../../../../../agent/volume/state/data-root.ts';
import { VolumeLock } from '../../../../../agent/volume/state/volume-lock.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { identityOf } from '../../support/lock-agents.ts';
import { withSmallVolume } from '../../support/small-volume.ts';

const isRoot = process.getuid?.() === 0;
const UNPRIVILEGED_UID = 65_534;
const marker = (digit: string) => `${digit.repeat(40)} 2026-01-0${digit}T00:00:00.000Z\n`;

async function makeVolume(t: TestContext) {
  const directory = await temporaryDirectory(t, 'touch-');
  const data = path.join(directory, 'data');
  await mkdir(data);
  const volume = await holdVolume(data);
  t.after(() => volume.lock.release());
  return { directory, data, volume, at: (name: string) => path.join(data, name) };
}

async function holdVolume(data: string) {
  const root = await DataRoot.open(data);
  const lock = new VolumeLock(root, identityOf('a'));
  await lock.hold();
  return { root, lock };
}

/** Runs something as another user, who owns the agent's files. */
async function asUser(at: (name: string) => string, run: () => void): Promise<void> {
  for (const own of ['.sync-agent', '.sync-agent/owner.json']) await chown(at(own), UNPRIVILEGED_UID, UNPRIVILEGED_UID);
  process.seteuid?.(UNPRIVILEGED_UID);
  try {
    run();
  } finally {
    process.seteuid?.(0);
  }
}

suite('touchFile', () => {
  test('creates a file with the text, and overwrites it with the next one', async (t) => {
    const { volume, at } = await makeVolume(t);
    await mkdir(at('config'));
    touchFile('config/synced', marker('1'), volume);
    assert.equal(await readFile(at('config/synced'), 'utf8'), marker('1'));
    await utimes(at('config/synced'), 0, 0);
    touchFile('config/synced', marker('2'), volume);
    assert.equal(await readFile(at('config/synced'), 'utf8'), marker('2'));
    assert.ok((await stat(at('config/synced'))).mtimeMs > 0);
  });

  for (const content of ['<config/>', '']) {
    test(`keeps the content of a foreign file ('${content}'), and touches it`, async (t) => {
      const { volume, at } = await makeVolume(t);
      await writeFile(at('gateway.xml'), content);
      await utimes(at('gateway.xml'), 0, 0);
      touchFile('gateway.xml', marker('1'), volume);
      assert.equal(await readFile(at('gateway.xml'), 'utf8'), content);
      assert.ok((await stat(at('gateway.xml'))).mtimeMs > 0);
    });
  }

  test("touches another user's file if it has write permission", {
    skip: !isRoot && 'another user needs root',
  }, async (t) => {
    const { volume, at } = await makeVolume(t);
    await writeFile(at('watched'), 'theirs');
    await chmod(at('watched'), 0o666);
    await utimes(at('watched'), 0, 0);
    await asUser(at, () => touchFile('watched', marker('1'), volume));
    assert.equal(await readFile(at('watched'), 'utf8'), 'theirs');
    assert.ok((await stat(at('watched'))).mtimeMs > 0);
  });

  for (const [what, name] of [
    ['file', 'watched'],
    ['directory', 'closed/new'],
  ] as const) {
    test(`names a ${what} of another user if it lacks write permission`, {
      skip: !isRoot && 'another user needs root',
    }, async (t) => {
      const { volume, at } = await makeVolume(t);
      await writeFile(at('watched'), 'theirs');
      await mkdir(at('closed'));
      const message = new RegExp(`^${name} .*\\(E(ACCES|PERM)\\)`);
      const refusal = { code: 'gateway.touchFile', message };
      await asUser(at, () => assert.throws(() => touchFile(name, marker('1'), volume), refusal));
      assert.equal(await readFile(at('watched'), 'utf8'), 'theirs');
    });
  }

  test('leaves no file behind if there is no space, and creates it in the next call', async (t) => {
    const { data } = await makeVolume(t);
    await withSmallVolume(t, { path: data }, async () => {
      const volume = await holdVolume(data);
      const file = path.join(data, 'synced');
      const filler = path.join(data, 'filler');
      await writeFile(filler, Buffer.alloc(32 * 1024 ** 2, 1)).catch(() => {});
      assert.throws(() => touchFile('synced', marker('1'), volume), { code: 'ENOSPC', path: 'synced' });
      await assert.rejects(lstat(file), { code: 'ENOENT' });
      await truncate(filler);
      touchFile('synced', marker('1'), volume);
      assert.equal(await readFile(file, 'utf8'), marker('1'));
      volume.lock.release();
    });
  });

  test('changes nothing once another agent has the volume', async (t) => {
    const { data, volume, at } = await makeVolume(t);
    touchFile('synced', marker('1'), volume);
    await utimes(at('synced'), 0, 0);
    await rm(at('.sync-agent/agent.lock')); // as the gateway can
    const next = await holdVolume(data);
    t.after(() => next.lock.release());
    assert.throws(() => touchFile('synced', marker('2'), volume), { code: 'data.lost' });
    assert.throws(() => touchFile('new', marker('2'), volume), { code: 'data.lost' });
    assert.equal(await readFile(at('synced'), 'utf8'), marker('1'));
    assert.equal((await stat(at('synced'))).mtimeMs, 0);
    await assert.rejects(lstat(at('new')), { code: 'ENOENT' });
  });

  test('follows no link, neither for the file nor for the directory', async (t) => {
    const { directory, volume, at } = await makeVolume(t);
    await mkdir(path.join(directory, 'outside'));
    await symlink(path.join(directory, 'outside'), at('folder'));
    await symlink(path.join(directory, 'outside/new'), at('file'));
    assert.throws(() => touchFile('folder/x', marker('1'), volume), { code: 'data.symbolicLink' });
    assert.throws(() => touchFile('file', marker('1'), volume), { code: 'gateway.touchFile' });
    await assert.rejects(lstat(path.join(directory, 'outside/new')), { code: 'ENOENT' });
    await assert.rejects(lstat(path.join(directory, 'outside/x')), { code: 'ENOENT' });
  });

  test("doesn't wait for a pipe", { timeout: 60_000 }, async (t) => {
    const { volume, at } = await makeVolume(t);
    await promisify(execFile)('mkfifo', [at('pipe')]);
    assert.throws(() => touchFile('pipe', marker('1'), volume), { code: 'gateway.touchFile' });
  });

  for (const name of ['missing/x', '', '.sync-agent/manifest.jsonl', 'n'.repeat(256)]) {
    test(`rejects ${JSON.stringify(name)}`, async (t) => {
      const { volume } = await makeVolume(t);
      assert.throws(() => touchFile(name, marker('1'), volume), { name: 'TerminalError', code: 'gateway.touchFile' });
    });
  }
});
