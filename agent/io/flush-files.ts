import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { forEachLimited } from './for-each-limited.ts';

const CONCURRENCY = 16;
/** From so many files on, flushing the file system at once is faster than flushing each. */
const MANY = 256;

/** Makes sure that files of one folder are on the disk, and not in the system's memory alone. */
export async function flushFiles(files: string[], folder: string): Promise<void> {
  if (files.length >= MANY && (await flushFileSystem(folder))) return;
  await forEachLimited(files, CONCURRENCY, async (file) => {
    const handle = await open(file, 'r+');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  });
}

/** By sync(1), for which Node has no function; gives false where there is none, or where it failed. */
async function flushFileSystem(folder: string): Promise<boolean> {
  const child = spawn('sync', ['--file-system', folder], { stdio: 'ignore' });
  return await once(child, 'close').then(
    ([code]) => code === 0,
    () => false,
  );
}
