import type { ClientRequest } from 'node:http';

/**
 * Ends the request of a call when its time is up. `AbortSignal.timeout` would do so too, but keeps its timer, and with it
 * the call, until then, however soon the answer is there: 10 MB in a receiver with some hundred patches a second.
 */
export class Deadline {
  /** Set once the time is up. */
  error: CallTimeoutError | undefined;
  readonly #timer: NodeJS.Timeout;
  #request: ClientRequest | undefined;

  constructor(timeoutMs: number) {
    this.#timer = setTimeout(() => {
      this.error = new CallTimeoutError(timeoutMs);
      this.#request?.destroy(this.error);
    }, timeoutMs);
  }

  /** The request that the call now waits for. */
  limit(request: ClientRequest): void {
    this.#request = request;
    if (this.error) request.destroy(this.error);
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
