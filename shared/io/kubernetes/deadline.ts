/**
 * Ends the request of a call when its time is up. `AbortSignal.timeout` would do so too, but keeps its timer, and with it
 * the call, until then, however soon the answer is there: 10 MB in a receiver with some hundred patches a second.
 */
export class Deadline {
  /** Set once the time is up. */
  error: CallTimeoutError | undefined;
  readonly #timer: NodeJS.Timeout;
  #end: ((error: Error) => void) | undefined;

  constructor(timeoutMs: number) {
    this.#timer = setTimeout(() => {
      this.error = new CallTimeoutError(timeoutMs);
      this.#end?.(this.error);
    }, timeoutMs);
  }

  /** Takes what ends the request that the call now waits for. */
  limit(end: (error: Error) => void): void {
    this.#end = end;
    if (this.error) end(this.error);
  }

  /** The call has ended. */
  cancel(): void {
    clearTimeout(this.#timer);
  }
}

/** The API server did not answer in time. */
class CallTimeoutError extends Error {
  readonly code = 'ETIMEDOUT';

  constructor(timeoutMs: number) {
    super(`no whole answer within ${timeoutMs} ms`);
  }
}
