import assert from 'node:assert/strict';
import fs from 'node:fs';
import { mkdir, open, rename, symlink, truncate, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { actAt, countCalls, everyKill, failAt, killAt, type Play } from './kill-at.ts';

/** The same changes with each kind of call that Node has for them. */
const forms: Record<string, (volume: string) => Promise<void>> = {
  'synchronous calls': async (volume) => {
    fs.mkdirSync(path.join(volume, 'd'));
    const descriptor = fs.openSync(path.join(volume, 'd/a'), 'wx');
    fs.writeSync(descriptor, 'one');
    fs.closeSync(descriptor);
    fs.renameSync(path.join(volume, 'd/a'), path.join(volume, 'd/b'));
    fs.writeFileSync(path.join(volume, 'c'), 'two');
    fs.symlinkSync('c', path.join(volume, 'l'));
    fs.unlinkSync(path.join(volume, 'l'));
  },
  'promises through an open directory': async (volume) => {
    const directory = fs.openSync(volume, 'r');
    const held = `/proc/self/fd/${directory}`;
    const at = (name: string) => path.join(fs.existsSync(held) ? held : volume, name);
    await mkdir(at('d'));
    const handle = await open(at('d/a'), 'wx');
    await handle.write('one').finally(() => handle.close());
    await rename(at('d/a'), at('d/b'));
    await writeFile(at('c'), 'two');
    await symlink('c', at('l'));
    await unlink(at('l'));
    fs.closeSync(directory);
  },
};
/** What is there if the change with this number is prevented. */
const TREES = [[], ['d'], ['d', 'd/a'], ['d', 'd/a'], ['d', 'd/b'], ['c', 'd', 'd/b'], ['c', 'd', 'd/b', 'l']];

for (const [form, change] of Object.entries(forms)) {
  test(`with ${form}, a kill prevents a change and all later ones, and an error only one`, async (t) => {
    for (const [index, names] of TREES.entries()) {
      const killed = await temporaryDirectory(t, 'volume-');
      const failing = await temporaryDirectory(t, 'volume-');
      const kill = killAt(killed, { step: index + 1 });
      await assert.rejects(change(killed), /EIO: killed/);
      assert.throws(() => fs.writeFileSync(path.join(killed, 'later'), ''), /EIO: killed/);
      kill.end();
      assert.deepEqual(fs.readdirSync(killed, { recursive: true }).sort(), names);
      const failure = failAt(failing, index + 1, 'ENOSPC');
      await assert.rejects(change(failing), { code: 'ENOSPC' });
      fs.writeFileSync(path.join(failing, 'later'), '');
      failure.end();
    }
  });

  test(`with ${form}, a write is cut in half, and reads and other volumes are no steps`, async (t) => {
    const volume = await temporaryDirectory(t, 'volume-');
    const torn = killAt(volume, { step: 3, isTorn: true });
    await assert.rejects(change(volume), /EIO: killed/);
    torn.end();
    assert.equal(fs.readFileSync(path.join(volume, 'd/a'), 'utf8'), 'o');
    const counted = countCalls(volume);
    await change(await temporaryDirectory(t, 'volume-'));
    fs.readFileSync(path.join(volume, 'd/a'));
    await (await open(path.join(volume, 'd/a'))).close();
    counted.end();
    assert.deepEqual(counted.calls, []);
  });
}

test('an action right before a step is no step itself', async (t) => {
  const volume = await temporaryDirectory(t, 'volume-');
  const file = path.join(volume, 'f');
  fs.writeFileSync(file, 'one');
  const played = actAt(volume, 2, () => fs.writeFileSync(file, 'meanwhile'));
  await truncate(file, 2); // which opens it first
  played.end();
  assert.equal(fs.readFileSync(file, 'utf8'), 'me');
});

suite('a kill test fails', () => {
  const met = { name: 'x', paths: [], isWrite: true, tear: () => {} };
  const plays: [what: string, play: Omit<Play, 'end'>, message: RegExp][] = [
    ['if no step was reached', { calls: [], met: undefined }, /only 0 steps/],
    ['if no write was among the steps', { calls: [{ ...met, isWrite: false }], met: undefined }, /no step was a write/],
    ['if it never ends', { calls: [], met }, /still not at the end after 9/],
  ];
  for (const [what, play, message] of plays)
    test(what, async (t) => {
      const run = async () => ({ ...play, end: () => {} });
      await assert.rejects(everyKill(t, { atLeast: 1, atMost: 9 }, run), message);
    });
});
