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
  const { ino } = fstatSync(descriptor, { bigint: true });
  closeSync(descriptor);
  try {
    renameSync(source, target);
  } catch (error) {
    const stats = lstatSync(target, { bigint: true, throwIfNoEntry: false });
    if (stats?.ino === ino && stats.size === 0n) unlinkSync(target);
    throw error;
  }
}
