import { closeSync, fstatSync, linkSync, lstatSync, openSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { succeedsUnless } from './unless-code.ts';

/** Errors of a file system without hard links, or without one to this file. */
const NO_LINKS = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'EXDEV'];

/** Gives the file a second name if possible, and returns whether it was. Throws `EEXIST` if the name is taken. */
export function tryLink(source: string, target: string): boolean {
  return succeedsUnless(NO_LINKS, () => linkSync(source, target));
}

/** Errors of a file system without symbolic links. */
const NO_SYMLINKS = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL'];

/** Creates a symbolic link if possible, and returns whether it was. Throws `EEXIST` if the name is taken. */
export const trySymlink = (text: string, path: string): boolean =>
  succeedsUnless(NO_SYMLINKS, () => symlinkSync(text, path));

/**
 * Puts a file at a free path; throws `EEXIST` if it is taken. Uses a hard link, which keeps the source; without hard
 * links, creates the name exclusively and moves the file over it.
 */
export function putNew(source: string, target: string): void {
  if (tryLink(source, target)) return;
  const descriptor = openSync(target, 'wx', 0o600);
  let ino: bigint | undefined;
  try {
    ino = inodeOf(descriptor);
    renameSync(source, target);
  } catch (error) {
    // Only this placeholder must be removed, because an empty file could be a file of others, or a lock.
    const stats = lstatSync(target, { bigint: true, throwIfNoEntry: false });
    if (stats?.isFile() && stats.size === 0n && stats.ino === (ino ?? stats.ino)) unlinkSync(target);
    throw error;
  }
}

/** Closes the file as well, because some network file systems can't replace an open one. */
function inodeOf(descriptor: number): bigint {
  try {
    return fstatSync(descriptor, { bigint: true }).ino;
  } finally {
    closeSync(descriptor);
  }
}
