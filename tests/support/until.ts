import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

/** How long to wait and for what. Times are in milliseconds. */
export interface UntilOptions<T> {
  /** What is waited for, for the message of the failure. */
  describe: string;
  /** Default: 60,000. It ends what hangs; what has to be quick is asserted by other means. */
  timeout?: number;
  /** Default: 50. */
  interval?: number;
  /** Tells whether a value is the awaited one; default: it is truthy. */
  accept?: (value: T) => boolean;
}

/**
 * Reads a value again and again until it is the awaited one, and gives it. An error counts as "not yet".
 * Fails with the last value seen, or the last error.
 */
export async function until<T>(read: () => T | Promise<T>, options: UntilOptions<T>): Promise<T> {
  const { describe, timeout = 60_000, interval = 50, accept = Boolean } = options;
  let seen = '';
  for (const deadline = Date.now() + timeout; ; await sleep(interval)) {
    try {
      const value = await read();
      if (accept(value)) return value;
      seen = inspect(value, { depth: 8, maxStringLength: 2_000 });
    } catch (error) {
      seen = String(error);
    }
    if (Date.now() > deadline) throw new Error(`${describe}: not within ${timeout} ms. Last seen:\n${seen}`);
  }
}
