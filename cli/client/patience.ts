import { setTimeout as sleep } from 'node:timers/promises';
import { isPassing } from './explain.ts';
import { Problem } from './problem.ts';

const RETRY_MS = 500;

/**
 * Retries a read until the deadline (in `performance.now`), because the API server may restart during a long wait.
 * Throws {@link Problem}.
 */
export async function readPatiently<T>(deadline: number, read: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof Problem && isPassing(error)) || performance.now() > deadline) throw error;
    }
    await sleep(RETRY_MS);
  }
}
