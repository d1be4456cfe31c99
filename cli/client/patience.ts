import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_TIMEOUT_MS } from '../../shared/io/kubernetes/client.ts';
import { isPassing } from './explain.ts';
import { Problem } from './problem.ts';

const RETRY_MS = 500;

/** Minimum time for a read at the deadline (ms). */
const SHORTEST_MS = 1_000;

/**
 * Retries a read until the deadline (in `performance.now`), because the API server may restart during a long wait. The
 * read gets the rest of this time, at most the default timeout of a call. Throws {@link Problem}.
 */
export async function readPatiently<T>(deadline: number, read: (timeoutMs: number) => Promise<T>): Promise<T> {
  for (;;) {
    const timeoutMs = Math.min(DEFAULT_TIMEOUT_MS, Math.max(SHORTEST_MS, deadline - performance.now()));
    try {
      return await read(timeoutMs);
    } catch (error) {
      if (!(error instanceof Problem && isPassing(error.cause)) || performance.now() > deadline) throw error;
    }
    await sleep(RETRY_MS);
  }
}
