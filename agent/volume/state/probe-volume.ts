import { closeSync, existsSync, lstatSync, openSync } from 'node:fs';
import { TerminalError } from '../../../shared/errors.ts';
import type { Directory } from '../../disk/directory.ts';
import { OpenFile } from '../../disk/open-file.ts';
import { tryLink, trySymlink } from '../../disk/put-new.ts';
import { setMode } from '../../disk/set-mode.ts';
import type { VolumeTraits } from '../../plan/volume-traits.ts';
import type { DataRoot } from './data-root.ts';

/** A name in ASCII: some file systems fold only the case of these letters. */
const PLAIN = 'probe-a';
/** A name with a letter that has another case and another Unicode normalization. */
const ACCENTED = 'probe-é'.normalize('NFC');

/** Determines how the volume handles names and modes by creating files in the directory. */
export function probeVolume(directory: Directory): VolumeTraits {
  const plain = withFile(directory, PLAIN, () => ({
    isFolded: existsSync(directory.at(PLAIN.toUpperCase())),
    keepsModes: keepsModes(directory.at(PLAIN)),
  }));
  const accented = probeAccented(directory);
  return {
    case: accented.isFolded || (plain.isFolded && 'ascii'),
    unicode: accented.isNormalized,
    keepsModes: plain.keepsModes,
  };
}

/** A file system that can't store such a name doesn't fold it either. */
function probeAccented(directory: Directory): { isFolded: boolean; isNormalized: boolean } {
  try {
    return withFile(directory, ACCENTED, () => ({
      isFolded: existsSync(directory.at(ACCENTED.toUpperCase())),
      isNormalized: existsSync(directory.at(ACCENTED.normalize('NFD'))),
    }));
  } catch {
    return { isFolded: false, isNormalized: false };
  }
}

/** Sets modes, as git does for `core.fileMode`: some volumes ignore this or a part of the bits, others reject it. */
function keepsModes(path: string): VolumeTraits['keepsModes'] {
  using file = new OpenFile(path, 'r');
  const modes = [0o755, 0o640, 0o400].map((mode) => {
    setMode(file.descriptor, mode);
    return { mode, found: lstatSync(path).mode & 0o7777 };
  });
  if (modes.every(({ mode, found }) => found === mode)) return true;
  return modes.every(({ mode, found }) => (found & 0o100) === (mode & 0o100)) && 'executable';
}

function withFile<T>(directory: Directory, name: string, look: () => T): T {
  directory.makeRoom(name);
  closeSync(openSync(directory.at(name), 'wx', 0o644));
  try {
    return look();
  } finally {
    directory.unlink(name);
  }
}

/** Throws {@link TerminalError} unless the volume has both hard and symbolic links. */
export function probeLinks(root: DataRoot): void {
  using staging = root.openAgentDirectory('staging');
  withFile(staging, PLAIN, () => {
    const hasBoth = tryLink(staging.at(PLAIN), staging.at('probe-link')) && canSymlink(staging);
    staging.unlink('probe-link');
    if (!hasBoth) throw noLinks();
  });
}

function canSymlink(directory: Directory): boolean {
  directory.unlink('probe-link');
  return trySymlink(PLAIN, directory.at('probe-link'));
}

const noLinks = () =>
  new TerminalError(
    'an atomic destination needs hard and symbolic links, and this data volume does not have both: remove publish from the mapping, or use another kind of volume',
    { code: 'data.noLinks', reason: 'VolumeUnusable' },
  );
