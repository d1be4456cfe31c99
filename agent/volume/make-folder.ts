import { lstatSync, renameSync } from 'node:fs';
import type { DataRoot } from './data-root.ts';
import type { Folder } from './folder.ts';
import { NEW_FOLDER } from './set-aside.ts';
import type { VolumeLock } from './volume-lock.ts';

interface Options {
  root: DataRoot;
  /** Looked at where the staging folder stops nobody. */
  lock: VolumeLock;
  /** Its permissions; left out, those of every new folder. */
  permissions?: number | undefined;
}

/** What a file system says that does not move folders from one place to another, or not to this one. */
const NO_MOVES = ['EACCES', 'EINVAL', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EPERM', 'EXDEV'];
const TAKEN = ['EEXIST', 'EISDIR', 'ENOTDIR', 'ENOTEMPTY'];

/**
 * Makes a folder where nothing is; gives false where something is. It comes out of the staging folder, as every file
 * does, so that an agent that was held up and lost the volume cannot make one any more: that gets `ENOENT`, and so does
 * one whose parent folder is gone.
 */
export function makeFolder(parent: Folder, name: string, { root, lock, permissions }: Options): boolean {
  if (lstatSync(parent.at(name), { throwIfNoEntry: false })) return false;
  const staging = root.staging.folder;
  // A folder gets its group from the one in which it is made.
  const isInherited = staging.inheritedGroup === parent.inheritedGroup;
  const outcome = isInherited ? moveIn(staging, parent.at(name), permissions) : 'impossible';
  if (outcome !== 'impossible') return outcome === 'made';
  lock.check();
  return make(parent, name, permissions);
}

function moveIn(staging: Folder, target: string, permissions: number | undefined): 'made' | 'taken' | 'impossible' {
  make(staging, NEW_FOLDER, permissions);
  try {
    renameSync(staging.at(NEW_FOLDER), target);
    return 'made';
  } catch (error) {
    staging.removeFolder(NEW_FOLDER);
    const { code = '' } = error as NodeJS.ErrnoException;
    if (TAKEN.includes(code)) return 'taken';
    if (NO_MOVES.includes(code)) return 'impossible';
    throw error;
  }
}

/** What the folder inherits (setgid) stays. */
function make(parent: Folder, name: string, permissions: number | undefined): boolean {
  if (!parent.make(name)) return false;
  if (permissions === undefined) return true;
  const folder = parent.open(name);
  folder.chmod((folder.mode & 0o7000) | permissions);
  folder.close();
  return true;
}
