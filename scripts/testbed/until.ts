import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until a condition holds, and returns the time (performance.now). Throws an error with `what` after the timeout. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  { timeoutMs = 30_000, intervalMs = 2 } = {},
): Promise<number> {
  for (const deadline = performance.now() + timeoutMs; !(await holds()); await sleep(intervalMs)) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${timeoutMs / 1000} s`);
  }
  return performance.now();
}
