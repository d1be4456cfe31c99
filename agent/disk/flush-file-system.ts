import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Maximum time that a flush takes (ms): it includes data that other programs of the node wrote to the same disk. */
const TIMEOUT_MS = 60_000;

/**
 * Flushes the file system that contains a directory with sync(1), because Node has no such function. Returns false if
 * the program is missing, fails, or exceeds the limit. Throws if the signal aborts.
 */
export async function flushFileSystem(
  directory: string,
  signal?: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<boolean> {
  const limit = AbortSignal.timeout(timeoutMs);
  const child = spawn('sync', ['--file-system', directory], {
    stdio: 'ignore',
    signal: signal ? AbortSignal.any([signal, limit]) : limit,
    killSignal: 'SIGKILL',
  });
  try {
    const [code] = await once(child, 'close');
    return code === 0;
  } catch {
    child.unref(); // it can't be killed before the disk responds
    signal?.throwIfAborted();
    return false;
  }
}
