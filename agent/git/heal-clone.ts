import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Left behind by a git that was killed: locks, and packs and objects that were not complete. */
const leftover = /\.lock$|^tmp_|^incoming-|^\.tmp-/;

/** Removes what a killed git left in a repository; nobody else may be using it. */
export async function healClone(gitDir: string): Promise<void> {
  for (const folder of ['.', 'refs', 'objects', 'objects/pack']) {
    await removeLeftovers(join(gitDir, folder), folder === 'refs');
  }
}

async function removeLeftovers(folder: string, recursive: boolean): Promise<void> {
  const entries = await readdir(folder, { recursive, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (leftover.test(entry.name)) await rm(join(entry.parentPath, entry.name), { recursive: true, force: true });
  }
}

/** Empties a folder that may be a mount point and can therefore not be removed itself. */
export async function emptyFolder(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  await Promise.all(names.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}
