import { CodedError } from '../../errors.ts';

/** No data for so long that the connection must be dead. */
export class SilenceError extends CodedError {
  constructor() {
    super('the API server fell silent', 'ETIMEDOUT');
  }
}

/** Node treats a longer timeout as 1 ms. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

interface Deadline {
  /** Aborts with the given signal, or with the error after the timeout. */
  signal: AbortSignal;
  /** Clear it at the end, or refresh it. */
  timer: NodeJS.Timeout;
}

/**
 * Adds a timeout to a signal; 0: none. `AbortSignal.timeout` keeps its timer, and with it the call, until it fires,
 * even after an early response: 10 MB in a receiver with some hundred patches a second.
 */
export function deadlineAfter(timeoutMs: number, errorOf: () => Error, signal?: AbortSignal): Deadline {
  const timeUp = new AbortController();
  const timer = setTimeout(() => timeUp.abort(errorOf()), Math.min(timeoutMs || MAX_TIMEOUT_MS, MAX_TIMEOUT_MS));
  return { signal: signal ? AbortSignal.any([signal, timeUp.signal]) : timeUp.signal, timer };
}
