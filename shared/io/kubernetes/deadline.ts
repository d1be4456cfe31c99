import { CodedError } from '../../errors.ts';

/** Nothing came for so long that the connection must be dead. */
export class SilenceError extends CodedError {
  constructor() {
    super('the API server fell silent', 'ETIMEDOUT');
  }
}

interface Deadline {
  /** Aborts with the given signal, or with the error when the time is up. */
  signal: AbortSignal;
  /** To be cleared at the end, or refreshed. */
  timer: NodeJS.Timeout;
}

/**
 * Adds a time limit to a signal. `AbortSignal.timeout` would do so too, but keeps its timer, and with it the call, until
 * then, however soon the answer is there: 10 MB in a receiver with some hundred patches a second.
 */
export function deadlineAfter(timeoutMs: number, errorOf: () => Error, signal?: AbortSignal): Deadline {
  const timeUp = new AbortController();
  const timer = setTimeout(() => timeUp.abort(errorOf()), timeoutMs);
  return { signal: signal ? AbortSignal.any([signal, timeUp.signal]) : timeUp.signal, timer };
}
