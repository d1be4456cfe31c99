import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { USUAL_TRAITS } from '../../../../agent/plan/volume-traits.ts';
import { Directory } from '../../../../agent/volume/directory.ts';
import { probeVolume } from '../../../../agent/volume/probe-volume.ts';
import { codedError } from '../../../support/coded-error.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { mountFuse, playForcedModes } from '../support/forced-modes.ts';
import { mockCalls } from '../support/mock-calls.ts';

async function emptyDirectory(t: TestContext): Promise<Directory> {
  const folder = await temporaryFolder(t, 'probe-');
  const opened = Directory.openAt(folder);
  t.after(() => opened.close());
  return opened;
}

/** Plays a volume that finds a file by each name that is folded to the same. */
function playFolding(t: TestContext, folder: Directory, fold: (name: string) => string): void {
  const end = mockCalls(t, ['existsSync'], (_, [file]) =>
    folder.list().some((name) => fold(name) === fold(path.basename(String(file)))),
  );
  t.after(end);
}

const foldAscii = (name: string) => name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

suite('the probe of a volume', () => {
  test('finds nothing unusual on this one, and leaves nothing behind', async (t) => {
    const folder = await emptyDirectory(t);
    assert.deepEqual(probeVolume(folder), USUAL_TRAITS);
    assert.deepEqual(folder.list(), []);
  });

  for (const [what, fold, found] of [
    ['the case of ASCII letters', foldAscii, { case: 'ascii', unicode: false }],
    ['the case of all letters', (name: string) => name.toLowerCase(), { case: true, unicode: false }],
    ['the normal form', (name: string) => name.normalize('NFD'), { case: false, unicode: true }],
    ['both', (name: string) => name.normalize('NFD').toUpperCase(), { case: true, unicode: true }],
  ] as const) {
    test(`detects that a volume folds ${what}`, async (t) => {
      const folder = await emptyDirectory(t);
      playFolding(t, folder, fold);
      assert.deepEqual(probeVolume(folder), { ...found, keepsModes: true });
    });
  }

  test("detects ASCII folding if names can't contain other letters", async (t) => {
    const folder = await emptyDirectory(t);
    playFolding(t, folder, foldAscii);
    const end = mockCalls(t, ['openSync', 'unlinkSync'], (_, args, real) => {
      if (/[^\0-\x7f]/.test(String(args[0]))) throw codedError('EINVAL');
      return real(...args);
    });
    t.after(end);
    assert.deepEqual(probeVolume(folder), { case: 'ascii', unicode: false, keepsModes: true });
  });

  for (const code of [undefined, 'EPERM', 'ENOSYS', 'EOPNOTSUPP', 'EACCES']) {
    test(`detects forced modes: ${code ?? 'a change of them is ignored'}`, async (t) => {
      const folder = await emptyDirectory(t);
      t.after(playForcedModes(t, code));
      assert.deepEqual(probeVolume(folder), { ...USUAL_TRAITS, keepsModes: false });
    });
  }

  test('detects all this on FAT', async (t) => {
    const volume = await mountFuse(t, (source, target) => [
      ['truncate', '-s', '32M', `${source}/image`],
      ['/usr/sbin/mkfs.vfat', `${source}/image`],
      ['fusefat', '-o', 'rw+', `${source}/image`, target],
    ]);
    if (volume === undefined) return;
    const folder = Directory.openAt(volume);
    t.after(() => folder.close());
    assert.deepEqual(probeVolume(folder), { case: 'ascii', unicode: false, keepsModes: false });
    assert.deepEqual(readdirSync(volume), []);
  });

  test('continues after a killed probe', async (t) => {
    const folder = await emptyDirectory(t);
    const made: string[] = [];
    const end = mockCalls(t, ['existsSync'], () => {
      made.push(...folder.list());
      return false;
    });
    probeVolume(folder);
    end();
    assert.equal(new Set(made).size, 2);
    for (const name of made) writeFileSync(folder.at(name), 'left');
    assert.deepEqual(probeVolume(folder), USUAL_TRAITS);
    assert.deepEqual(folder.list(), []);
  });
});
