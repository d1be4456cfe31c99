import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { chmod, link, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { flock } from '../../../../../agent/volume/state/flock.ts';
import { codedError } from '../../../../support/coded-error.ts';
import { slow } from '../../../../support/depth.ts';
import { createVolume } from '../../support/lock-agents.ts';
import { mockCalls } from '../../support/mock-calls.ts';

const HOLDER = fileURLToPath(new URL('../../support/lock-holder.ts', import.meta.url));
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
  test('the second one waits, and names the first, until it releases the volume', async (t) => {
    const { agentOf, owner } = await createVolume(t);
    const a = await agentOf('a');
    const b = await agentOf('b');
    assert.deepEqual([await a.hold(), await a.hold()], [true, false]);
    assert.equal(a.weakness, undefined);
    await assert.rejects(b.hold(), inUseBy('a'));
    assert.equal(a.isHeld(), true);
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
      assert.equal(agents.filter((lock) => lock.isHeld()).length, 1);
    }
  });

  test('a killed one is replaced at once, by its own pod or by another one', slow, async (t) => {
    for (const next of ['a', 'b']) {
      const { agentOf, data, owner } = await createVolume(t);
      const child = await startHolder(t, data, 'a');
      const lock = await agentOf(next);
      await assert.rejects(lock.hold(), inUseBy('a'));
      child.kill('SIGKILL');
      await once(child, 'exit');
      assert.equal(await lock.hold(), true);
      assert.equal(owner(), `ns/${next}`);
    }
  });

  test('a stopped one keeps it', slow, async (t) => {
    const { agentOf, data } = await createVolume(t);
    const child = await startHolder(t, data, 'a');
    child.kill('SIGSTOP');
    await assert.rejects((await agentOf('b')).hold(), inUseBy('a'));
  });

  test('an owner without owner.json keeps it', async (t) => {
    const { agentOf, at } = await createVolume(t);
    await (await agentOf('a')).hold();
    await rm(at('owner.json'));
    await assert.rejects((await agentOf('b')).hold(), { code: 'data.inUse' });
  });

  test('a late release keeps the lock of the next owner', async (t) => {
    const { agentOf, at, owner } = await createVolume(t);
    const a = await agentOf('a');
    const b = await agentOf('b');
    await a.hold();
    await rm(at('agent.lock'));
    await b.hold();
    a.release();
    assert.deepEqual([b.isHeld(), owner()], [true, 'ns/b']);
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
      assert.equal(lock.isHeld(), false);
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
    const isHeld = lock.isHeld();
    end();
    assert.equal(isHeld, false);
  });

  test("isn't a reason to fail if a link replaced the directory: the next attempt names the link", async (t) => {
    const { agentOf, at, data } = await createVolume(t);
    const lock = await agentOf('a');
    await lock.hold();
    await rename(at(''), path.join(data, 'moved'));
    await symlink(path.join(data, 'moved'), at('').replace(/\/$/, ''));
    assert.equal(lock.isHeld(), false);
    await assert.rejects(lock.hold(), { name: 'TerminalError', code: 'data.agentFolder' });
    lock.release();
  });
});

suite('the file that names the owner', () => {
  const dead = JSON.stringify({ podUid: 'uid-of-b', pod: 'ns/b', node: 'node-of-b', lock: 'of an earlier version' });
  for (const content of [dead, '', '{"pod":1}', 'x'.repeat(100_000)]) {
    test(`doesn't keep an agent out: ${content.slice(0, 20)}`, async (t) => {
      const { agentOf, at, owner } = await createVolume(t);
      await writeFile(at('owner.json'), content);
      assert.equal(await (await agentOf('a')).hold(), true);
      assert.equal(owner(), 'ns/a');
    });
  }
});

suite('on a volume without working locks,', () => {
  for (const [what, script] of [
    ['on a machine without flock', undefined],
    ['on a file system without locks', 'echo "flock: 3: No locks available" >&2; exit 71'],
  ] as const) {
    test(`the volume is held, and the weakness is reported: ${what}`, async (t) => {
      const { agentOf, data } = await createVolume(t);
      await replaceFlock(t, data, script);
      const a = await agentOf('a');
      assert.equal(await a.hold(), true);
      assert.equal(/flock\(1\)/.test(a.weakness ?? assert.fail()), script === undefined);
      a.check();
      assert.equal(await (await agentOf('b')).hold(), true);
      assert.throws(() => a.check(), { code: 'data.lost' });
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
      assert.equal(lock.isHeld(), false);
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
