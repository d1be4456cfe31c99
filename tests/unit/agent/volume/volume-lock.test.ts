import assert from 'node:assert/strict';
import fs from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataRoot } from '../../../../agent/volume/data-root.ts';
import { makeFolder } from '../../../../agent/volume/make-folder.ts';
import { LAST_GENERATION } from '../../../../agent/volume/staging.ts';
import { VolumeLock } from '../../../../agent/volume/volume-lock.ts';
import { makeTemporaryFolder } from '../../../../scripts/testbed/temporary-folder.ts';
import { failCalls } from '../support/fail-calls.ts';

const times = { beatMs: 20, staleMs: 150 };

async function prepare(t: TestContext) {
  const { path: folder, remove } = await makeTemporaryFolder('lock-');
  const locks: VolumeLock[] = [];
  t.after(async () => {
    for (const lock of locks) await lock.release().catch(() => {});
    await remove();
  });
  const agentOf = async (podName: string, given = times) => {
    const identity = {
      podName,
      podUid: `uid-of-${podName}`,
      namespace: 'ns',
      crName: 'gw',
      profile: 'default',
      gatewayName: undefined,
    };
    const root = await DataRoot.open(folder);
    const lock = new VolumeLock(root, identity, given);
    locks.push(lock);
    return { lock, root, hold: () => lock.hold() };
  };
  const own = path.join(folder, '.sync-agent');
  return { agentOf, folder, own, file: (number: number) => path.join(own, `lock/${number}.json`) };
}

/** Holds as soon as that is possible, and gives how long it took in milliseconds. */
async function holdInTime({ hold }: { hold: () => Promise<boolean> }): Promise<number> {
  const started = performance.now();
  for (;;) {
    const isHeld = await hold().catch((error) => {
      assert.equal(error.name, 'WaitingError', error.stack);
      return false;
    });
    if (isHeld) return performance.now() - started;
    assert.ok(performance.now() - started < 20_000, 'never given up');
    await sleep(10);
  }
}

/** One that gives no sign of life. */
const silent = { ...times, beatMs: 60_000 };

suite('two agents on one volume', () => {
  test('one that is held up right before it makes a folder leaves none, once the other one has the volume', async (t) => {
    const { agentOf, folder } = await prepare(t);
    const [a, b] = [await agentOf('a', silent), await agentOf('b')];
    await a.hold();
    await holdInTime(b);
    // The look at the lock was before that.
    t.mock.method(a.lock, 'check', () => {}, { times: 1 });
    const parent = a.root.openFolder('');
    assert.throws(() => makeFolder(parent, 'made', { root: a.root, lock: a.lock }), { name: 'WaitingError' });
    parent.close();
    assert.deepEqual(await readdir(folder), ['.sync-agent']);
  });

  test('the second one waits, and says for whom', async (t) => {
    const { agentOf } = await prepare(t);
    const [a, b] = [await agentOf('a'), await agentOf('b')];
    assert.equal(await a.hold(), true);
    assert.equal(await a.hold(), false);
    const refusal = { name: 'WaitingError', code: 'data.inUse', message: /in use by the agent of pod ns\/a/ };
    for (const started = performance.now(); performance.now() - started < 4 * times.staleMs; await sleep(10)) {
      await assert.rejects(b.hold(), refusal);
    }
    await a.lock.release();
    assert.equal(await b.hold(), true);
    await assert.rejects(a.hold(), /ns\/b/);
  });

  test('of many that begin at once, one has it', async (t) => {
    for (let round = 0; round < 50; round += 1) {
      const { agentOf } = await prepare(t);
      const agents = await Promise.all(Array.from({ length: 5 }, (_, index) => agentOf(`${index}`)));
      const held = await Promise.all(agents.map(({ hold }) => hold().catch(() => false)));
      assert.equal(held.filter(Boolean).length, 1, `round ${round}`);
      assert.equal(agents.filter(({ lock }) => lock.isHeld).length, 1);
    }
  });

  test('one that gives no sign of life is followed at once by its own pod', async (t) => {
    const { agentOf } = await prepare(t);
    const gone = await agentOf('a', silent);
    await gone.hold();
    await assert.rejects((await agentOf('b')).hold(), /ns\/a/);
    assert.equal(await (await agentOf('a')).hold(), true);
    assert.equal(gone.lock.isHeld, false);
  });

  test('and by another pod when that saw it standing still for long enough, whatever the times of files say', async (t) => {
    const { agentOf, own } = await prepare(t);
    await (await agentOf('a', silent)).hold();
    await sleep(2 * times.staleMs);
    const b = await agentOf('b');
    const waitedMs = await holdInTime(b);
    assert.ok(waitedMs >= times.staleMs, `${waitedMs} ms`);
    assert.deepEqual(await readdir(path.join(own, 'lock')), ['2.json']);
    assert.deepEqual(await readdir(path.join(own, 'staging')), ['2.uid-of-b']);
  });

  test('a waiter that slept for long does not count that time', async (t) => {
    const { agentOf } = await prepare(t);
    await (await agentOf('a', silent)).hold();
    const b = await agentOf('b');
    await assert.rejects(b.hold(), /ns\/a/);
    await sleep(2 * times.staleMs);
    await assert.rejects(b.hold(), /ns\/a/);
  });

  test('only one of several that wait follows', async (t) => {
    const { agentOf } = await prepare(t);
    await (await agentOf('gone', silent)).hold();
    const agents = await Promise.all(Array.from({ length: 5 }, (_, index) => agentOf(`${index}`)));
    const isHeld = () => agents.filter(({ lock }) => lock.isHeld).length;
    for (const started = performance.now(); isHeld() === 0; await sleep(10)) {
      await Promise.all(agents.map(({ hold }) => hold().catch(() => false)));
      assert.ok(performance.now() - started < 20_000, 'never given up');
    }
    assert.equal(isHeld(), 1);
  });

  test('one that was held up can neither go on, nor stage, nor move, nor take the lock from its follower', async (t) => {
    const { agentOf, folder, own } = await prepare(t);
    const a = await agentOf('a', silent);
    await a.hold();
    const { staging } = a.root;
    await writeFile(staging.at('0'), 'staged');
    await writeFile(path.join(folder, 'x'), 'of b');
    const b = await agentOf('b');
    await holdInTime(b);
    await assert.rejects(rename(staging.at('0'), path.join(folder, 'x')), { code: 'ENOENT' });
    await assert.rejects(rename(path.join(folder, 'x'), staging.at('saved')), { code: 'ENOENT' });
    await assert.rejects(writeFile(staging.at('1'), ''), { code: 'ENOENT' });
    assert.throws(() => a.lock.check(), { name: 'WaitingError', code: 'data.lost' });
    await a.lock.release();
    assert.equal(b.lock.isHeld, true);
    assert.equal(await b.hold(), false);
    assert.equal(await readFile(path.join(folder, 'x'), 'utf8'), 'of b');
    assert.deepEqual(await readdir(path.join(own, 'staging')), ['2.uid-of-b']);
  });

  test('one that somebody took the folder of the locks from takes it anew', async (t) => {
    const { agentOf, own } = await prepare(t);
    const a = await agentOf('a');
    await a.hold();
    await rm(own, { recursive: true });
    assert.equal(a.lock.isHeld, false);
    assert.equal(await a.hold(), true);
    assert.equal(a.root.staging.isAlive, true);
  });

  test('one that somebody moved the staging folder away from takes it anew', async (t) => {
    const { agentOf, own, folder } = await prepare(t);
    const a = await agentOf('a');
    await a.hold();
    await rename(path.join(own, 'staging/1.uid-of-a'), path.join(folder, 'elsewhere'));
    assert.equal(a.root.staging.isAlive, false);
    assert.equal(await a.hold(), true);
    assert.deepEqual(await readdir(path.join(own, 'staging')), ['2.uid-of-a']);
  });

  test('one that was held up stays out, even if somebody took the folder of the locks from both', async (t) => {
    const { agentOf, folder, own } = await prepare(t);
    const a = await agentOf('a', silent);
    await mkdir(path.join(own, 'lock'), { recursive: true });
    await writeFile(path.join(own, 'lock/2.json'), JSON.stringify({ podUid: 'uid-of-a', pod: 'ns/a' }));
    await a.hold();
    const { staging } = a.root;
    await writeFile(staging.at('0'), 'staged');
    await rm(path.join(own, 'lock'), { recursive: true });
    await (await agentOf('b')).hold();
    assert.deepEqual(await readdir(path.join(own, 'staging')), ['4.uid-of-b']);
    await assert.rejects(rename(staging.at('0'), path.join(folder, 'x')), { code: 'ENOENT' });
  });

  test('numbers that nobody can have counted to do not end the row', async (t) => {
    const { agentOf, own } = await prepare(t);
    await mkdir(path.join(own, 'lock'), { recursive: true });
    await mkdir(path.join(own, 'staging/999999999999999.uid'), { recursive: true });
    await writeFile(path.join(own, 'lock/999999999999999.json'), '{"podUid":"other","pod":"x"}');
    await (await agentOf('a')).hold();
    assert.deepEqual(await readdir(path.join(own, 'lock')), ['1.json']);
    assert.deepEqual(await readdir(path.join(own, 'staging')), ['1.uid-of-a']);
  });

  for (const planted of [LAST_GENERATION - 2, LAST_GENERATION - 1, LAST_GENERATION, 999_999_999_999_998]) {
    test(`after the number ${planted} the lock still has one owner`, async (t) => {
      const { agentOf, own } = await prepare(t);
      await mkdir(path.join(own, 'lock'), { recursive: true });
      await writeFile(path.join(own, `lock/${planted}.json`), '{"podUid":"uid-of-a","pod":"ns/a"}');
      for (const [owner, other] of ['ab', 'ba', 'ab', 'ba', 'ab'].map((names) => names.split(''))) {
        const [a, b] = [await agentOf(owner ?? ''), await agentOf(other ?? '')];
        assert.equal(await a.hold(), true);
        for (const started = performance.now(); performance.now() - started < 2 * times.staleMs; await sleep(10)) {
          await assert.rejects(b.hold(), { code: 'data.inUse' });
          assert.equal(a.lock.isHeld, true);
        }
        assert.equal((await readdir(path.join(own, 'staging'))).length, 1);
        assert.equal((await readdir(path.join(own, 'lock'))).length, 1);
        await a.lock.release();
      }
    });
  }

  test('any number of names next to its files and folders can be taken', async (t) => {
    const { agentOf, own, file } = await prepare(t);
    const { readdirSync } = fs;
    await mkdir(path.dirname(file(1)), { recursive: true });
    await writeFile(file(200_001), '{"podUid":"x","pod":"x","isReleased":true}');
    const many = Array.from({ length: 200_000 }, (_, index) => `${index + 1}.json`);
    // As if somebody made them: a disk takes minutes for so many.
    const listed = t.mock.method(fs, 'readdirSync', ((...args: Parameters<typeof readdirSync>) => {
      const names = readdirSync(...args);
      return typeof args[1] === 'object' ? names : [...many, ...names];
    }) as typeof readdirSync);
    syncBuiltinESMExports();
    const a = await agentOf('a', silent);
    await a.hold();
    listed.mock.restore();
    syncBuiltinESMExports();
    assert.ok(a.lock.isHeld);
    assert.deepEqual(await readdir(path.join(own, 'lock')), ['200002.json']);
    assert.equal((await readdir(path.join(own, 'staging'))).length, 1);
  });

  test('a follower removes the staging folder of an owner with the highest number', async (t) => {
    const { agentOf, folder, own } = await prepare(t);
    await mkdir(path.join(own, 'lock'), { recursive: true });
    await writeFile(path.join(own, `lock/${LAST_GENERATION - 1}.json`), '{"podUid":"uid-of-a","pod":"ns/a"}');
    const a = await agentOf('a', silent);
    await a.hold();
    const { staging } = a.root;
    await writeFile(staging.at('0'), 'staged');
    await holdInTime(await agentOf('b'));
    assert.equal(a.lock.isHeld, false);
    await assert.rejects(rename(staging.at('0'), path.join(folder, 'x')), { code: 'ENOENT' });
  });

  test('folders in the place of its files are put aside', async (t) => {
    const { agentOf, own } = await prepare(t);
    for (const name of ['1.json', 'uid-of-a.new', '999999999999999.json']) {
      await mkdir(path.join(own, 'lock', name), { recursive: true });
      await writeFile(path.join(own, 'lock', name, 'theirs'), 'theirs');
    }
    await (await agentOf('a')).hold();
    assert.deepEqual(await readdir(path.join(own, 'lock')), ['1.json']);
    for (const name of ['1.json', 'uid-of-a.new', '999999999999999.json']) {
      assert.equal(await readFile(path.join(own, 'taken-over', `lock.${name}.kept`, 'theirs'), 'utf8'), 'theirs');
    }
  });

  test('files that no agent writes are cleared when the lock is taken, and at each sync; some are put aside', async (t) => {
    const { agentOf, own } = await prepare(t);
    const fill = async () => {
      await mkdir(path.join(own, 'lock'), { recursive: true });
      for (let n = 0; n < 300; n += 1) await writeFile(path.join(own, `lock/theirs ${n}`), 'theirs');
      for (let n = 0; n < 300; n += 1) await writeFile(path.join(own, `lock/x${n}.new`), '');
      await mkdir(path.join(own, 'lock/folder/in it'), { recursive: true });
      const noText = Buffer.concat([Buffer.from(path.join(own, 'lock/')), Buffer.from([0xff, 0xfe])]);
      await writeFile(noText, 'theirs');
    };
    const a = await agentOf('a', silent);
    for (const isFresh of [true, false]) {
      await fill();
      assert.equal(await a.hold(), isFresh);
      const left = await readdir(path.join(own, 'lock'));
      const isDraft = (name: string) => /^x\d+\.new$/.test(name);
      assert.deepEqual(
        left.filter((name) => !isDraft(name)),
        ['1.json'],
      );
      assert.ok(left.length <= 101, 'drafts may be those of agents that begin');
      const kept = (await readdir(path.join(own, 'taken-over'))).filter((name) => name.includes('theirs'));
      assert.ok(kept.length >= 98 && kept.length <= 200, `${kept.length} are put aside`);
      assert.ok((await readdir(path.join(own, 'taken-over/lock.folder.kept'))).includes('in it'));
    }
  });

  test('the drafts of two agents that clear at the same time are left to them', async (t) => {
    const { agentOf, own } = await prepare(t);
    await mkdir(path.join(own, 'lock'), { recursive: true });
    await writeFile(path.join(own, 'lock/uid-of-b.new'), 'b');
    await (await agentOf('a')).hold();
    assert.deepEqual(await readdir(path.join(own, 'lock')), ['1.json', 'uid-of-b.new']);
  });

  test('what cannot be put aside stops nobody who has the lock', async (t) => {
    const { agentOf, own } = await prepare(t);
    const { lock, hold } = await agentOf('a');
    await hold();
    await rm(path.join(own, 'taken-over'), { recursive: true, force: true });
    await writeFile(path.join(own, 'taken-over'), 'no folder');
    await mkdir(path.join(own, 'lock/theirs'));
    assert.equal(await hold(), false);
    assert.ok(lock.isHeld);
  });

  test('a file in a staging folder whose name is no UTF-8 is put aside', async (t) => {
    const { agentOf, own } = await prepare(t);
    await mkdir(path.join(own, 'staging/0.gone'), { recursive: true });
    const name = Buffer.concat([Buffer.from(path.join(own, 'staging/0.gone/')), Buffer.from([0xff, 0xfe])]);
    await writeFile(name, 'theirs');
    await (await agentOf('a')).hold();
    assert.deepEqual(await readdir(path.join(own, 'taken-over')), ['0.gone.__.kept']);
  });

  test('what is put aside is kept, also where something comes to its new name meanwhile', async (t) => {
    const { agentOf, own } = await prepare(t);
    await mkdir(path.join(own, 'staging/0.gone'), { recursive: true });
    await writeFile(path.join(own, 'staging/0.gone/keep.f.kept'), 'theirs');
    const { lstatSync } = fs;
    const looks = t.mock.method(fs, 'lstatSync', ((...args: Parameters<typeof lstatSync>) => {
      const stats = lstatSync(...args);
      const isFree = !stats && fs.existsSync(path.join(own, 'taken-over')) && String(args[0]).endsWith('/f.kept');
      if (isFree) fs.writeFileSync(path.join(own, 'taken-over/f.kept'), '');
      return stats;
    }) as typeof lstatSync);
    syncBuiltinESMExports();
    await (await agentOf('a')).hold();
    looks.mock.restore();
    syncBuiltinESMExports();
    assert.equal(await readFile(path.join(own, 'taken-over/f.kept'), 'utf8'), 'theirs');
  });

  test('a lock that nobody can read is given up as one that stands still', async (t) => {
    const { agentOf, file } = await prepare(t);
    const a = await agentOf('a', silent);
    await a.hold();
    await writeFile(file(1), '');
    const b = await agentOf('b');
    await assert.rejects(b.hold(), /in use by another agent/);
    await holdInTime(b);
  });

  test('what a kill left of a file of the lock is taken away', async (t) => {
    const { agentOf, own, file } = await prepare(t);
    await mkdir(path.join(own, 'lock'), { recursive: true });
    await writeFile(path.join(own, 'lock/uid-of-a.new'), 'half a te');
    const a = await agentOf('a');
    await a.hold();
    assert.deepEqual(await readdir(path.join(own, 'lock')), ['1.json']);
    assert.equal(JSON.parse(await readFile(file(1), 'utf8')).podUid, 'uid-of-a');
  });

  test('tries that fail leave one file of the lock', async (t) => {
    const { agentOf, own } = await prepare(t);
    const { lock, hold } = await agentOf('a');
    // As where the folder is immutable, or the volume has no inode left.
    const end = failCalls(t, (name, [folder]) =>
      name === 'mkdirSync' && String(folder).endsWith('.uid-of-a') ? 'EPERM' : undefined,
    );
    for (let attempt = 0; attempt < 5; attempt += 1) await assert.rejects(hold(), { code: 'EPERM' });
    end();
    assert.deepEqual(await readdir(path.join(own, 'lock')), ['5.json']);
    await hold();
    assert.ok(lock.isHeld);
    assert.deepEqual(await readdir(path.join(own, 'lock')), ['6.json']);
  });

  test('links in the place of its folders and files lead nowhere', async (t) => {
    const { agentOf, folder, own } = await prepare(t);
    const outside = path.join(folder, 'outside');
    await mkdir(outside);
    await writeFile(path.join(outside, 'theirs'), 'theirs');
    await mkdir(path.join(own, 'lock'), { recursive: true });
    await symlink(path.join(outside, 'theirs'), path.join(own, 'lock/7.json'));
    await symlink(outside, path.join(own, 'staging'));
    const a = await agentOf('a');
    for (const started = performance.now(); performance.now() - started < 2 * times.staleMs; await sleep(10)) {
      await assert.rejects(a.hold());
    }
    await rm(path.join(own, 'staging'));
    await mkdir(path.join(own, 'staging'));
    await symlink(outside, path.join(own, 'staging/1.old'));
    await holdInTime(a);
    assert.equal(await readFile(path.join(outside, 'theirs'), 'utf8'), 'theirs');
    assert.deepEqual(await readdir(outside), ['theirs']);
    assert.match((await readdir(path.join(own, 'staging'))).join(), /^\d+\.uid-of-a$/);
  });

  test('a folder of somebody else in a staging folder is put aside', async (t) => {
    const { agentOf, own } = await prepare(t);
    await mkdir(path.join(own, 'staging/0.gone/saved-1'), { recursive: true });
    await writeFile(path.join(own, 'staging/0.gone/saved-1/theirs'), 'theirs');
    await (await agentOf('a')).hold();
    assert.equal(await readFile(path.join(own, 'taken-over/0.gone.saved-1.kept/theirs'), 'utf8'), 'theirs');
  });
});
