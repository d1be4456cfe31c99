import type { ClientRequest } from 'node:http';

/**
 * Ends a call that takes too long, from its first attempt to the last byte of its answer. An `AbortSignal` would do
 * the same at several times the cost: of a small call it was the largest part.
 */
export class Deadline {
  readonly #timer: NodeJS.Timeout;
  #outgoing: ClientRequest | undefined;
  #error: Error | undefined;

  /** The time begins now, in milliseconds. */
  constructor(timeoutMs: number) {
    this.#timer = setTimeout(() => {
      this.#error = new CallTimeoutError(`no whole answer within ${timeoutMs} ms`);
      this.#outgoing?.destroy(this.#error);
    }, timeoutMs);
  }

  /** What ended the call, once its time is over. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Takes charge of the attempt that is under way now, and ends it at once where the time is over. */
  watch(outgoing: ClientRequest): void {
    this.#outgoing = outgoing;
    if (this.#error) outgoing.destroy(this.#error);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

/** The API server did not answer in time. */
class CallTimeoutError extends Error {
  override readonly name = 'CallTimeoutError';
  readonly code = 'ETIMEDOUT';
}
