import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { pbkdf2 } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { chmod, link, lstat, mkdir, readdir, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { flock } from '../../../../agent/volume/flock.ts';
import type { VolumeLock } from '../../../../agent/volume/volume-lock.ts';
import { codedError } from '../../../support/coded-error.ts';
import { slow } from '../../../support/depth.ts';
import { createVolume, TIMES } from '../support/lock-agents.ts';
import { mockCalls } from '../support/mock-calls.ts';

const derive = promisify(pbkdf2);
const HOLDER = fileURLToPath(new URL('../support/lock-holder.ts', import.meta.url));
const inUseBy = (pod: string) => ({
  name: 'WaitingError',
  code: 'data.inUse',
  reason: 'VolumeInUse',
  message: new RegExp(` ns/${pod} .* node-of-${pod}:`),
});

/** Another process that holds the lock. */
async function startHolder(t: TestContext, data: string, podName: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [HOLDER, data, podName], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const [output] = await once(child.stdout, 'data');
  assert.equal(String(output), 'held\n');
  return child;
}

/** Tries for some time, and expects to be refused each time. */
async function waitsFor(lock: VolumeLock, ms: number, refusal: object): Promise<void> {
  for (const started = performance.now(); performance.now() - started < ms; await sleep(10)) {
    await assert.rejects(lock.hold(), refusal);
  }
}

/** Holds as soon as that is possible, and returns how long it took in milliseconds. */
async function holdInTime(lock: VolumeLock): Promise<number> {
  const started = performance.now();
  for (;;) {
    const isHeld = await lock.hold().catch((error) => {
      assert.equal(error.code, 'data.inUse', error.stack);
      return false;
    });
    if (isHeld) return performance.now() - started;
    assert.ok(performance.now() - started < 20_000, 'never given up');
    await sleep(10);
  }
}

/** Puts another flock into the path, or none. */
async function replaceFlock(t: TestContext, data: string, script?: string): Promise<void> {
  const directory = path.join(data, 'bin');
  await mkdir(directory);
  await symlink('/usr/bin/env', path.join(directory, 'env'));
  if (script !== undefined) {
    await writeFile(path.join(directory, 'flock'), `#!/bin/sh\n${script}\n`);
    await chmod(path.join(directory, 'flock'), 0o755);
  }
  const { PATH } = process.env;
  process.env.PATH = directory;
  t.after(() => {
    process.env.PATH = PATH;
  });
}

suite('when two or more agents share one volume,', () => {
  test('the second one waits, and names the first, until it releases the volume', slow, async (t) => {
    const { agentOf, owner } = await createVolume(t);
    const a = await agentOf('a');
    const b = await agentOf('b');
    assert.deepEqual([await a.hold(), await a.hold()], [true, false]);
    assert.equal(a.weakness, undefined);
    await waitsFor(b, 2 * TIMES.aliveMs, inUseBy('a'));
    assert.equal(a.isHeld, true);
    a.release();
    assert.equal(await b.hold(), true);
    assert.equal(owner(), 'ns/b');
    await assert.rejects(a.hold(), inUseBy('b'));
  });

  test('exactly one of many that start at once has it', async (t) => {
    for (let round = 0; round < 10; round += 1) {
      const { agentOf } = await createVolume(t);
      const agents = await Promise.all(Array.from({ length: 5 }, (_, index) => agentOf(`${index}`)));
      const held = await Promise.all(agents.map((lock) => lock.hold().catch(() => false)));
      assert.equal(held.filter(Boolean).length, 1, `round ${round}`);
      assert.equal(agents.filter(({ isHeld }) => isHeld).length, 1);
    }
  });

  test('a killed one is replaced at once, by its own pod or by another one', slow, async (t) => {
    for (const next of ['a', 'b']) {
      const { agentOf, data, owner } = await createVolume(t);
      const child = await startHolder(t, data, 'a');
      const lock = await agentOf(next, { ...TIMES, aliveMs: 600_000 });
      await assert.rejects(lock.hold(), inUseBy('a'));
      child.kill('SIGKILL');
      await once(child, 'exit');
      assert.equal(await lock.hold(), true);
      assert.equal(owner(), `ns/${next}`);
    }
  });

  test('a stopped one keeps it, however long it shows no sign of life', slow, async (t) => {
    const { agentOf, data, at } = await createVolume(t);
    const child = await startHolder(t, data, 'a');
    child.kill('SIGSTOP');
    const lock = await agentOf('b');
    await waitsFor(lock, 3 * TIMES.aliveMs, inUseBy('a'));
    const { mtimeMs } = await lstat(at('owner.json'));
    assert.ok(Date.now() - mtimeMs > TIMES.aliveMs, 'it gave signs of life');
  });

  test("signs of life use the clock of the volume, whatever its machine's clock says", {
    timeout: 60_000,
  }, async (t) => {
    const { agentOf, at, owner } = await createVolume(t);
    await (await agentOf('a')).hold();
    const began = Date.now();
    t.mock.timers.enable({ apis: ['Date'], now: 0 });
    await utimes(at('owner.json'), 0, 0);
    while ((await lstat(at('owner.json'))).mtimeMs === 0) await sleep(TIMES.touchMs / 2);
    const { mtimeMs } = await lstat(at('owner.json'));
    assert.ok(mtimeMs > began - 1000, `${mtimeMs}`);
    assert.equal(owner(), 'ns/a');
  });

  // The system gives a number that was closed to the next file that is opened.
  test('a late sign of life is written to no other file', slow, async (t) => {
    const { agentOf, data } = await createVolume(t);
    const lock = await agentOf('a');
    await lock.hold();
    const busy = Array.from({ length: 12 }, () => derive('x', 'y', 300_000, 64, 'sha512'));
    await sleep(3 * TIMES.touchMs);
    lock.release();
    const files = Array.from({ length: 20 }, (_, n) => path.join(data, `file-${n}`));
    const descriptors = files.map((file) => openSync(file, 'w'));
    await Promise.all(busy);
    await sleep(TIMES.touchMs);
    for (const descriptor of descriptors) closeSync(descriptor);
    for (const file of files) assert.equal(await readFile(file, 'utf8'), '');
  });

  test('an owner without owner.json keeps it', async (t) => {
    const { agentOf, at } = await createVolume(t);
    await (await agentOf('a')).hold();
    await rm(at('owner.json'));
    await assert.rejects((await agentOf('b')).hold(), { code: 'data.inUse' });
  });

  test('a late release keeps the lock of the next owner', slow, async (t) => {
    const { agentOf, at, owner } = await createVolume(t);
    const a = await agentOf('a', { ...TIMES, touchMs: 60_000 });
    const b = await agentOf('b');
    await a.hold();
    await rm(at('agent.lock'));
    await holdInTime(b);
    a.release();
    assert.deepEqual([b.isHeld, owner()], [true, 'ns/b']);
  });
});

suite('a lost lock', () => {
  const acts: [what: string, act: (file: string, data: string) => Promise<void>][] = [
    ['the gateway removes the file', (file) => rm(file)],
    [
      'the gateway moves another file over it',
      async (file, data) => {
        await writeFile(path.join(data, 'other'), '');
        await rename(path.join(data, 'other'), file);
      },
    ],
    ['the gateway removes the directory', (file) => rm(path.dirname(file), { recursive: true })],
  ];
  for (const [what, act] of acts) {
    test(`is detected and taken again: ${what}`, async (t) => {
      const { agentOf, at, data } = await createVolume(t);
      const lock = await agentOf('a');
      await lock.hold();
      await act(at('agent.lock'), data);
      assert.equal(lock.isHeld, false);
      assert.throws(() => lock.check(), { name: 'WaitingError', code: 'data.lost', reason: 'VolumeInUse' });
      assert.equal(await lock.hold(), true);
      lock.check();
    });
  }

  test('is detected if the server refuses reads, as NFSv4 does once it has dropped the lock', async (t) => {
    const { agentOf } = await createVolume(t);
    const lock = await agentOf('a');
    await lock.hold();
    const end = mockCalls(t, ['readSync'], () => {
      throw codedError('EIO');
    });
    const { isHeld } = lock;
    end();
    assert.equal(isHeld, false);
  });

  test('goes to no other agent while its owner shows signs of life', slow, async (t) => {
    const { agentOf, at, owner } = await createVolume(t);
    const a = await agentOf('a');
    const b = await agentOf('b');
    await a.hold();
    await rm(at('agent.lock'));
    await waitsFor(b, 2 * TIMES.aliveMs, inUseBy('a'));
    assert.equal(await a.hold(), true);
    assert.equal(owner(), 'ns/a');
  });

  test("isn't a reason to fail if a link replaced the directory: the next attempt names the link", async (t) => {
    const { agentOf, at, data } = await createVolume(t);
    const lock = await agentOf('a');
    await lock.hold();
    await rename(at(''), path.join(data, 'moved'));
    await symlink(path.join(data, 'moved'), at('').replace(/\/$/, ''));
    assert.equal(lock.isHeld, false);
    await assert.rejects(lock.hold(), { name: 'TerminalError', code: 'data.agentFolder' });
    lock.release();
  });
});

suite("an owner on another node, out of the lock's reach", () => {
  const other = { podUid: 'uid-of-b', pod: 'ns/b', node: 'node-of-b', lock: 'another-kernel 1 2' };
  async function prepare(t: TestContext, owner: object = other) {
    const volume = await createVolume(t);
    const file = volume.at('owner.json');
    await writeFile(file, JSON.stringify(owner));
    return { ...volume, file, lock: await volume.agentOf('a') };
  }

  test('keeps the volume while it shows signs of life, and for some time after', slow, async (t) => {
    const { lock, file, owner } = await prepare(t);
    const touching = setInterval(() => void utimes(file, new Date(), new Date()), TIMES.touchMs);
    await waitsFor(lock, 3 * TIMES.aliveMs, inUseBy('b')).finally(() => clearInterval(touching));
    const waitedMs = await holdInTime(lock);
    assert.ok(waitedMs > TIMES.aliveMs / 2, `${waitedMs} ms`);
    assert.equal(owner(), 'ns/a');
  });

  test('is replaced at once if it showed the last one long ago', async (t) => {
    const { lock, file } = await prepare(t);
    await utimes(file, new Date(), new Date(Date.now() - 10 * TIMES.aliveMs));
    assert.equal(await lock.hold(), true);
  });

  test("isn't waited for longer if its clock is ahead", slow, async (t) => {
    const { lock, file } = await prepare(t);
    await utimes(file, new Date(), new Date(Date.now() + 3_600_000));
    const waitedMs = await holdInTime(lock);
    assert.ok(waitedMs >= TIMES.aliveMs, `${waitedMs} ms`);
  });

  test("isn't waited for by its own pod", async (t) => {
    const { agentOf } = await prepare(t);
    assert.equal(await (await agentOf('b')).hold(), true);
  });

  for (const content of ['', '{"pod":1}', 'x'.repeat(100_000)]) {
    test(`is never taken from a damaged file: ${content.slice(0, 20)}`, async (t) => {
      const { lock, file } = await prepare(t);
      await writeFile(file, content);
      assert.equal(await lock.hold(), true);
    });
  }
});

suite('on a volume without working locks,', () => {
  for (const [what, script] of [
    ['on a machine without flock', undefined],
    ['on a file system without locks', 'echo "flock: 3: No locks available" >&2; exit 71'],
  ] as const) {
    test(`the volume is held, and the weakness is reported: ${what}`, slow, async (t) => {
      const { agentOf, data } = await createVolume(t);
      await replaceFlock(t, data, script);
      const a = await agentOf('a');
      const b = await agentOf('b');
      assert.equal(await a.hold(), true);
      assert.equal(/flock\(1\)/.test(a.weakness ?? assert.fail()), script === undefined);
      a.check();
      await waitsFor(b, 2 * TIMES.aliveMs, inUseBy('a'));
      a.release();
      assert.equal(await b.hold(), true);
    });
  }

  for (const [script, reason] of [
    ['exit 65', / 65$/],
    ['kill -9 $$', / SIGKILL$/],
    ['echo "flock: 3: Input/output error" >&2; exit 71', /\(EIO\)$/],
  ] as const) {
    test(`a failing flock is retried, and nothing is held: ${script}`, async (t) => {
      const { agentOf, data } = await createVolume(t);
      await replaceFlock(t, data, script);
      const lock = await agentOf('a');
      await assert.rejects(lock.hold(), { name: 'TransientError', code: 'data.lock', message: reason });
      assert.equal(lock.isHeld, false);
    });
  }

  test("a lock that SMB denies counts as another client's", async (t) => {
    const { agentOf, data } = await createVolume(t);
    await replaceFlock(t, data, 'echo "flock: 3: Permission denied" >&2; exit 65');
    await assert.rejects((await agentOf('a')).hold(), { name: 'WaitingError', code: 'data.inUse' });
  });

  test('a hanging flock, as with a silent file server, ends after some time', async (t) => {
    const { data } = await createVolume(t);
    await replaceFlock(t, data, 'exec /bin/sleep 60');
    const descriptor = openSync(path.join(data, 'file'), 'w');
    t.after(() => closeSync(descriptor));
    await assert.rejects(flock(descriptor, 100), {
      name: 'TransientError',
      code: 'data.lock',
      reason: 'VolumeUnusable',
      message: /\b0\.1 s\b/,
    });
  });
});

suite("the path of the agent's lock", () => {
  const message = /^\.sync-agent\/agent\.lock /;
  const refusal = { name: 'TerminalError', code: 'data.lockFile', reason: 'PathConflict', message };
  for (const [what, make] of [
    ['a directory', (file: string) => mkdir(file)],
    ['a link', (file: string) => symlink('../theirs', file)],
    ['a link to nothing', (file: string) => symlink('../nothing', file)],
    ['a pipe', async (file: string) => void execFileSync('mkfifo', [file])],
  ] as const) {
    test(`is reported with a remedy if it is ${what}`, async (t) => {
      const { agentOf, at, data } = await createVolume(t);
      await writeFile(path.join(data, 'theirs'), 'theirs');
      await make(at('agent.lock'));
      await assert.rejects((await agentOf('a')).hold(), refusal);
      assert.deepEqual((await readdir(data)).sort(), ['.sync-agent', 'theirs']);
      assert.equal(await readFile(path.join(data, 'theirs'), 'utf8'), 'theirs');
    });
  }

  for (const name of ['owner.json', 'probe-a']) {
    test(`can be locked whatever is at the path of ${name}, which stays unchanged`, async (t) => {
      const { agentOf, at, owner } = await createVolume(t);
      await mkdir(at(name));
      await writeFile(at(`${name}/theirs`), 'theirs');
      assert.equal(await (await agentOf('a')).hold(), true);
      assert.equal(owner(), 'ns/a');
      const files = await readdir(at(''), { recursive: true });
      assert.equal(files.filter((file) => path.basename(file) === 'theirs').length, 1);
    });
  }

  test('can be a second name of a file, and owner.json a link to it: the file keeps its content', async (t) => {
    const { agentOf, at, data, owner } = await createVolume(t);
    await writeFile(path.join(data, 'theirs'), 'theirs');
    await symlink('../theirs', at('owner.json'));
    await link(path.join(data, 'theirs'), at('agent.lock'));
    assert.equal(await (await agentOf('a')).hold(), true);
    assert.equal(owner(), 'ns/a');
    assert.equal(await readFile(path.join(data, 'theirs'), 'utf8'), 'theirs');
  });

  test("can be on a file system that can't truncate files", async (t) => {
    const { agentOf } = await createVolume(t);
    t.after(
      mockCalls(t, ['ftruncateSync'], () => {
        throw codedError('EPERM');
      }),
    );
    assert.equal(await (await agentOf('a')).hold(), true);
  });
});
