import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { Directory } from '../../../../../agent/disk/directory.ts';
import { USUAL_TRAITS } from '../../../../../agent/plan/volume-traits.ts';
import { probeVolume } from '../../../../../agent/volume/state/probe-volume.ts';
import { codedError } from '../../../../support/coded-error.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { mountFuse, playForcedModes } from '../../support/forced-modes.ts';
import { mockCalls } from '../../support/mock-calls.ts';

async function emptyDirectory(t: TestContext): Promise<Directory> {
  const directory = await temporaryDirectory(t, 'probe-');
  const opened = Directory.openAt(directory);
  t.after(() => opened.close());
  return opened;
}

/** Plays a volume that finds a file by each name that is folded to the same. */
function playFolding(t: TestContext, directory: Directory, fold: (name: string) => string): void {
  const end = mockCalls(t, ['existsSync'], (_, [file]) =>
    directory.list().some((name) => fold(name) === fold(path.basename(String(file)))),
  );
  t.after(end);
}

const foldAscii = (name: string) => name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

suite('the probe of a volume', () => {
  test('finds nothing unusual on this one, and leaves nothing behind', async (t) => {
    const directory = await emptyDirectory(t);
    assert.deepEqual(probeVolume(directory), USUAL_TRAITS);
    assert.deepEqual(directory.list(), []);
  });

  for (const [what, fold, found] of [
    ['the case of ASCII letters', foldAscii, { case: 'ascii', unicode: false }],
    ['the case of all letters', (name: string) => name.toLowerCase(), { case: true, unicode: false }],
    ['the normal form', (name: string) => name.normalize('NFD'), { case: false, unicode: true }],
    ['both', (name: string) => name.normalize('NFD').toUpperCase(), { case: true, unicode: true }],
  ] as const) {
    test(`detects that a volume folds ${what}`, async (t) => {
      const directory = await emptyDirectory(t);
      playFolding(t, directory, fold);
      assert.deepEqual(probeVolume(directory), { ...found, keepsModes: true });
    });
  }

  test("detects ASCII folding if names can't contain other letters", async (t) => {
    const directory = await emptyDirectory(t);
    playFolding(t, directory, foldAscii);
    const end = mockCalls(t, ['openSync', 'unlinkSync'], (_, args, real) => {
      if (/[^\0-\x7f]/.test(String(args[0]))) throw codedError('EINVAL');
      return real(...args);
    });
    t.after(end);
    assert.deepEqual(probeVolume(directory), { case: 'ascii', unicode: false, keepsModes: true });
  });

  for (const code of [undefined, 'EPERM', 'ENOSYS', 'EOPNOTSUPP', 'EACCES']) {
    test(`detects forced modes: ${code ?? 'a change of them is ignored'}`, async (t) => {
      const directory = await emptyDirectory(t);
      t.after(playForcedModes(t, code));
      assert.deepEqual(probeVolume(directory), { ...USUAL_TRAITS, keepsModes: false });
    });
  }

  test('detects all this on FAT', async (t) => {
    const volume = await mountFuse(t, (source, target) => [
      ['truncate', '-s', '32M', `${source}/image`],
      ['/usr/sbin/mkfs.vfat', `${source}/image`],
      ['fusefat', '-o', 'rw+', `${source}/image`, target],
    ]);
    if (volume === undefined) return;
    const directory = Directory.openAt(volume);
    t.after(() => directory.close());
    assert.deepEqual(probeVolume(directory), { case: 'ascii', unicode: false, keepsModes: false });
    assert.deepEqual(readdirSync(volume), []);
  });

  test('continues after a killed probe', async (t) => {
    const directory = await emptyDirectory(t);
    const made: string[] = [];
    const end = mockCalls(t, ['existsSync'], () => {
      made.push(...directory.list());
      return false;
    });
    probeVolume(directory);
    end();
    assert.equal(new Set(made).size, 2);
    for (const name of made) writeFileSync(directory.at(name), 'left');
    assert.deepEqual(probeVolume(directory), USUAL_TRAITS);
    assert.deepEqual(directory.list(), []);
  });
});
