import { closeSync, existsSync, lstatSync, openSync } from 'node:fs';
import type { VolumeTraits } from '../plan/volume-traits.ts';
import type { Folder } from './folder.ts';
import { OpenFile } from './open-file.ts';
import { setMode } from './set-mode.ts';

/** A name in ASCII: some file systems fold only the case of these letters. */
const PLAIN = 'probe-a';
/** A name with a letter that has another case and another Unicode normalization. */
const ACCENTED = 'probe-é'.normalize('NFC');

/** Determines how the volume handles names and modes by creating files in the directory. */
export function probeVolume(folder: Folder): VolumeTraits {
  const plain = withFile(folder, PLAIN, () => ({
    isFolded: existsSync(folder.at(PLAIN.toUpperCase())),
    keepsModes: keepsModes(folder.at(PLAIN)),
  }));
  const accented = probeAccented(folder);
  return {
    case: accented.isFolded || (plain.isFolded && 'ascii'),
    unicode: accented.isNormalized,
    keepsModes: plain.keepsModes,
  };
}

/** A file system that can't store such a name doesn't fold it either. */
function probeAccented(folder: Folder): { isFolded: boolean; isNormalized: boolean } {
  try {
    return withFile(folder, ACCENTED, () => ({
      isFolded: existsSync(folder.at(ACCENTED.toUpperCase())),
      isNormalized: existsSync(folder.at(ACCENTED.normalize('NFD'))),
    }));
  } catch {
    return { isFolded: false, isNormalized: false };
  }
}

/** Sets and removes the executable bit, as git does for `core.fileMode`: some volumes ignore this, others reject it. */
function keepsModes(path: string): boolean {
  return [0o755, 0o644].every((mode) => {
    using file = new OpenFile(path, 'r');
    setMode(file.descriptor, mode);
    return (lstatSync(path).mode & 0o100) === (mode & 0o100);
  });
}

function withFile<T>(folder: Folder, name: string, look: () => T): T {
  folder.makeRoom(name);
  closeSync(openSync(folder.at(name), 'wx', 0o644));
  try {
    return look();
  } finally {
    folder.unlink(name);
  }
}
