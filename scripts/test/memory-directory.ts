import { accessSync, constants, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const MEMORY = '/dev/shm';
/** The number of tmpfs in statfs(2). */
const TMPFS_MAGIC = 0x01021994;
const GIB = 2 ** 30;
/** Bytes: all tests together had at most half a gigabyte in temporary files. */
const NEEDED_THERE = 2 * GIB;
const NEEDED_IN_ALL = 6 * GIB;

/**
 * Puts temporary files in memory if there is enough of it. Tests create and delete many small files, and for the
 * number of each new one, ext4 skips all that were deleted in the last minutes. A test with many syncs takes half as
 * long in memory. Returns the directory, or undefined if nothing changed; `DISK_TMPDIR` then names the one on the disk.
 */
export function useMemoryDirectory(environment: NodeJS.ProcessEnv): string | undefined {
  if (environment.TMPDIR || process.availableMemory() < NEEDED_IN_ALL || !isRoomyMemory(MEMORY)) return undefined;
  environment.DISK_TMPDIR = '/tmp';
  environment.TMPDIR = MEMORY;
  return MEMORY;
}

/** Returns whether programs can run there: some machines mount it without that permission. */
function isRoomyMemory(directory: string): boolean {
  let own: string | undefined;
  try {
    const { type, bavail, bsize } = statfsSync(directory);
    if (type !== TMPFS_MAGIC || bavail * bsize < NEEDED_THERE) return false;
    own = mkdtempSync(path.join(directory, 'stoker-'));
    const program = path.join(own, 'program');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 });
    accessSync(program, constants.X_OK);
    return true;
  } catch {
    return false;
  } finally {
    if (own) rmSync(own, { recursive: true });
  }
}
