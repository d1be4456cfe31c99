import type { DataRoot } from './data-root.ts';
import type { Folder } from './folder.ts';
import type { VolumeLock } from './volume-lock.ts';

interface Options {
  root: DataRoot;
  lock: VolumeLock;
  /** Its permissions; left out, those of every new folder. */
  permissions?: number | undefined;
}

/** Permissions of new folders; undefined: those of every new folder. */
export const folderPermissions = (groupWrite: boolean): number | undefined => (groupWrite ? 0o775 : undefined);

/**
 * Makes a folder where nothing is; gives false where something is. Throws where the volume is another agent's: also
 * where that took it while this one was held up right before the folder was made, which is not there any more then.
 */
export function makeFolder(parent: Folder, name: string, { root, lock, permissions }: Options): boolean {
  lock.check();
  if (!parent.make(name)) return false;
  if (!root.staging.isAlive) {
    parent.removeFolder(name);
    lock.check();
  }
  if (permissions === undefined) return true;
  const folder = parent.open(name);
  try {
    folder.permit(permissions);
  } finally {
    folder.close();
  }
  return true;
}
