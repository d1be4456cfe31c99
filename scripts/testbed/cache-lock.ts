import { mkdir, open, readFile, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRunning } from '../../shared/io/is-running.ts';

const heartbeatMs = 2_000;
const staleMs = 30_000;

/**
 * Does work while holding a lock file, waiting for its holder first; a holder that died is noticed and replaced.
 * It saves double work and no more: two processes that replace a dead holder in the same instant both go on.
 */
export async function withCacheLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  await mkdir(path.dirname(file), { recursive: true });
  await acquire(file);
  const heartbeat = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => {}), heartbeatMs);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    await rm(file, { force: true });
  }
}

async function acquire(file: string): Promise<void> {
  let told = false;
  while (!(await create(file))) {
    if (await isDead(file)) {
      await rm(file, { force: true });
      continue;
    }
    if (!told) process.stderr.write(`Waiting for another process that fills the cache (${file}).\n`);
    told = true;
    await sleep(500);
  }
}

async function create(file: string): Promise<boolean> {
  try {
    const handle = await open(file, 'wx');
    await handle.writeFile(`${hostname()} ${process.pid}`);
    await handle.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function isDead(file: string): Promise<boolean> {
  try {
    const { mtimeMs } = await stat(file);
    // Process ids mean something on their own machine only, and home folders may be shared.
    const [host, pid] = (await readFile(file, 'utf8')).split(' ');
    if (host === hostname() && pid && !isRunning(Number(pid))) return true;
    return Date.now() - mtimeMs > staleMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
