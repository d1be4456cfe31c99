import assert from 'node:assert/strict';
import fs from 'node:fs';
import { mkdir, open, rename, symlink, truncate, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { actAt, countCalls, everyKill, failAt, killAt, type Play } from './kill-at.ts';
import { openedPath } from './volume-calls.ts';

// References from before any play, as a module of the agent keeps them.
const laterWrite = promisify(fs.write);
const laterFlush = promisify(fs.fsync);
const later = { open: promisify(fs.open), close: promisify(fs.close), writeFile: promisify(fs.writeFile) };

async function makeVolume(t: TestContext): Promise<string> {
  const directory = await temporaryDirectory(t, 'volume-');
  return directory;
}

/** The same changes in each form that Node has for them. */
const forms: Record<string, (volume: string) => Promise<void>> = {
  'synchronous calls': async (volume) => {
    const at = (name: string) => path.join(volume, name);
    fs.mkdirSync(at('d'));
    const descriptor = fs.openSync(at('d/a'), 'wx');
    fs.writeSync(descriptor, 'one');
    fs.fsyncSync(descriptor);
    fs.closeSync(descriptor);
    fs.renameSync(at('d/a'), at('d/b'));
    fs.writeFileSync(at('c'), 'two');
    fs.symlinkSync('c', at('l'));
    fs.unlinkSync(at('l'));
  },
  promises: async (volume) => {
    const at = (name: string) => path.join(volume, name);
    await mkdir(at('d'));
    const handle = await open(at('d/a'), 'wx');
    try {
      await handle.write('one');
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(at('d/a'), at('d/b'));
    await writeFile(at('c'), 'two');
    await symlink('c', at('l'));
    await unlink(at('l'));
  },
  'callbacks, and paths through an open folder': async (volume) => {
    const directory = fs.openSync(volume, 'r');
    const isHeld = fs.existsSync(`/proc/self/fd/${directory}`);
    const at = (name: string) => path.join(isHeld ? `/proc/self/fd/${directory}` : volume, name);
    await promisify(fs.mkdir)(at('d'));
    const descriptor = await later.open(at('d/a'), 'wx');
    await laterWrite(descriptor, Buffer.from('one'));
    await laterFlush(descriptor);
    await later.close(descriptor);
    await promisify(fs.rename)(at('d/a'), at('d/b'));
    await later.writeFile(at('c'), 'two');
    await promisify(fs.symlink)('c', at('l'));
    await promisify(fs.unlink)(at('l'));
    fs.closeSync(directory);
  },
};
const STEPS = 8;

function read(volume: string): Record<string, string> {
  const entries = fs.readdirSync(volume, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    entries.map((entry) => {
      const file = path.join(entry.parentPath, entry.name);
      return [path.relative(volume, file), entry.isFile() ? fs.readFileSync(file, 'utf8') : ''];
    }),
  );
}

suite('each change of a volume is a step', () => {
  for (const [form, change] of Object.entries(forms)) {
    test(`with ${form}, and a kill prevents it and later ones`, async (t) => {
      const trees: string[] = [];
      const run = async (kill: Parameters<typeof killAt>[1]) => {
        const volume = await makeVolume(t);
        const played = killAt(volume, kill);
        await change(volume).catch((error) => assert.match(error.message, /EIO: killed/));
        played.end();
        if (!kill.isTorn) trees.push(JSON.stringify(read(volume)));
        return played;
      };
      for (let step = 1; step <= STEPS; step += 1) {
        const { met } = await run({ step });
        if (met?.isWrite) await run({ step, isTorn: true });
      }
      const { met } = await run({ step: STEPS + 1 });
      assert.equal(met, undefined);
      assert.deepEqual(trees, [
        '{}',
        '{"d":""}',
        '{"d":"","d/a":""}',
        '{"d":"","d/a":"one"}',
        '{"d":"","d/a":"one"}',
        '{"d":"","d/b":"one"}',
        '{"c":"two","d":"","d/b":"one"}',
        '{"c":"two","d":"","l":"","d/b":"one"}',
        '{"c":"two","d":"","d/b":"one"}',
      ]);
    });

    test(`with ${form}, and a write can be cut in half`, async (t) => {
      for (const { step, file, torn } of [
        { step: 3, file: 'd/a', torn: 'o' },
        { step: 6, file: 'c', torn: form === 'synchronous calls' ? 't' : '' },
      ]) {
        const volume = await makeVolume(t);
        const played = killAt(volume, { step, isTorn: true });
        await assert.rejects(change(volume), /EIO: killed/);
        played.end();
        assert.equal(read(volume)[file], torn);
      }
    });

    test(`with ${form}, and an error affects one call`, async (t) => {
      for (let step = 1; step <= STEPS; step += 1) {
        const volume = await makeVolume(t);
        const played = failAt(volume, step, 'ENOSPC');
        await assert.rejects(change(volume), { code: 'ENOSPC' });
        fs.writeFileSync(path.join(volume, 'after'), '');
        played.end();
        assert.equal(read(volume).after, '');
      }
    });
  }

  test('even through a descriptor alone, without /proc', async (t) => {
    const volume = fs.realpathSync(await makeVolume(t));
    const file = path.join(volume, 'f');
    const descriptors = [fs.openSync(file, 'w'), await later.open(file, 'w')];
    const handle = await open(file, 'w');
    assert.deepEqual([...descriptors, handle.fd].map(openedPath), [file, file, file]);
    for (const descriptor of descriptors) fs.closeSync(descriptor);
    await handle.close();
  });

  test('unless it only reads, or is outside the volume', async (t) => {
    const volume = await makeVolume(t);
    const elsewhere = await makeVolume(t);
    await forms.promises?.(volume);
    const played = countCalls(volume);
    await forms.promises?.(elsewhere);
    fs.readFileSync(path.join(volume, 'c'));
    fs.readdirSync(volume);
    await (await open(path.join(volume, 'c'))).close();
    played.end();
    assert.deepEqual(played.calls, []);
  });
});

test('an action right before a step is no step itself', async (t) => {
  const volume = await makeVolume(t);
  const file = path.join(volume, 'f');
  fs.writeFileSync(file, 'one');
  const played = actAt(volume, 2, () => fs.writeFileSync(file, 'meanwhile'));
  await truncate(file, 2); // which opens it first
  played.end();
  assert.equal(fs.readFileSync(file, 'utf8'), 'me');
  assert.equal(played.met?.name, 'ftruncate');
});

suite('a kill test fails', () => {
  const none = { calls: [], met: undefined, end: () => {} } satisfies Play;
  test('if no step was reached', async (t) => {
    await assert.rejects(
      everyKill(t, { atLeast: 1, atMost: 9 }, async () => none),
      /only 0 steps/,
    );
  });

  test('if no write was among the steps', async (t) => {
    const run = async ({ step }: { step: number }) => {
      const volume = await makeVolume(t);
      const played = killAt(volume, { step });
      await mkdir(path.join(volume, 'd')).catch(() => {});
      played.end();
      return played;
    };
    await assert.rejects(everyKill(t, { atLeast: 1, atMost: 9 }, run), /no step was a write/);
  });

  test('if it never ends', async (t) => {
    const run = async () => ({ ...none, met: { name: 'x', paths: [], isWrite: true, tear: () => {} } });
    await assert.rejects(everyKill(t, { atLeast: 1, atMost: 9 }, run), /still not at the end after 9/);
  });
});
