import { closeSync, fstatSync, linkSync, lstatSync, openSync, renameSync, unlinkSync } from 'node:fs';

/** What a file system says that has no hard links, or none to this file. */
const NO_LINKS = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'EXDEV'];

/** Gives the file a second name, where that is possible; gives whether it was. Throws `EEXIST` if the name is taken. */
export function tryLink(source: string, target: string): boolean {
  try {
    linkSync(source, target);
    return true;
  } catch (error) {
    if (NO_LINKS.includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/**
 * Puts a file where nothing is, and throws `EEXIST` where something is. By a hard link, which leaves the source as it
 * is; where there are none, by creating the name exclusively and moving the file over that.
 */
export function putNew(source: string, target: string): void {
  if (tryLink(source, target)) return;
  const descriptor = openSync(target, 'wx', 0o600);
  let ino: bigint | undefined;
  try {
    ino = inodeOf(descriptor);
    renameSync(source, target);
  } catch (error) {
    // Nothing but this may go, and it has to: an empty file counts as somebody else's, and as a lock.
    const stats = lstatSync(target, { bigint: true, throwIfNoEntry: false });
    if (stats?.isFile() && stats.size === 0n && stats.ino === (ino ?? stats.ino)) unlinkSync(target);
    throw error;
  }
}

/** Closes the file, too: some network file systems replace none that is open. */
function inodeOf(descriptor: number): bigint {
  try {
    return fstatSync(descriptor, { bigint: true }).ino;
  } finally {
    closeSync(descriptor);
  }
}
