/** How long retries are delayed. */
export interface Backoff {
  /** Delay after the first failure, in milliseconds. */
  baseMs: number;
  maxMs: number;
  /** Part of the delay that chance can take away, from 0 to 1 (full jitter). */
  jitter: number;
}

/**
 * Milliseconds before a retry: the delay doubles with each failure in a row, the first being 1. `chance` is from 0 to 1.
 * https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export function backoffMs(failures: number, { baseMs, maxMs, jitter }: Backoff, chance: number): number {
  const limit = Math.min(maxMs, baseMs * 2 ** Math.max(0, failures - 1));
  return limit * (1 - jitter * chance);
}
