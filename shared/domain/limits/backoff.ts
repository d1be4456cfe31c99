/** Delays of retries. */
export interface Backoff {
  /** Delay after the first failure (ms). */
  baseMs: number;
  maxMs: number;
  /** Random part of the delay, from 0 to 1 (full jitter). */
  jitter: number;
}

/**
 * Delay before a retry (ms), which doubles with each consecutive failure, counted from 1. `chance` is from 0 to 1.
 * https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export function backoffMs(failures: number, { baseMs, maxMs, jitter }: Backoff, chance: number): number {
  const limit = Math.min(maxMs, baseMs * 2 ** Math.max(0, failures - 1));
  return limit * (1 - jitter * chance);
}
