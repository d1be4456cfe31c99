import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

/** Options of a wait. Times are in milliseconds. */
export interface UntilOptions<T> {
  /** Description of the awaited value, for the error message. */
  describe: string;
  /** Default: 120,000, because the machine may be busy. Ends waits that hang; speed is asserted by other means. */
  timeout?: number;
  /** Default: at first 10, then an eighth of the time so far, at most 100, because most of a run is waiting. */
  interval?: number;
  /** Returns whether a value is the awaited one; default: it is truthy. */
  accept?: (value: T) => boolean;
}

/**
 * Reads a value repeatedly until it is the awaited one, and returns it. Errors are retried.
 * Fails with the last value seen, or the last error.
 */
export async function until<T>(read: () => T | Promise<T>, options: UntilOptions<T>): Promise<T> {
  const { describe, timeout = 120_000, interval, accept = Boolean } = options;
  for (const started = Date.now(); ; ) {
    let seen: () => string;
    try {
      const value = await read();
      if (accept(value)) return value;
      seen = () => inspect(value, { depth: 8, maxStringLength: 2_000 });
    } catch (error) {
      seen = () => String(error);
    }
    const elapsed = Date.now() - started;
    if (elapsed > timeout) throw new Error(`${describe}: not within ${timeout} ms. Last seen:\n${seen()}`);
    await sleep(interval ?? Math.min(Math.max(elapsed / 8, 10), 100));
  }
}
