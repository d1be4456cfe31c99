import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachLimited } from './for-each-limited.ts';

const CONCURRENCY = 16;
/** From so many files on, flushing the file system at once is faster than flushing each. */
const MANY = 64;

/** Makes sure that the files `0`, `1` … of a folder are on the disk, and not in the system's memory alone. */
export async function flushFiles(count: number, folder: string): Promise<void> {
  if (count >= MANY && (await flushFileSystem(folder))) return;
  await forEachLimited(Array(count).keys(), CONCURRENCY, async (index) => {
    const handle = await open(join(folder, String(index)), 'r+');
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
