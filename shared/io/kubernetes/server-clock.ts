/** Differences below this can be rounding errors of `Date` (ms). */
const TOLERANCE_MS = 1000;

/**
 * Estimates the API server's time from the full seconds in its responses (RFC 9110, `Date`). Times of several replicas
 * are compared, so a wrong clock on this machine must not matter.
 */
export class ServerClock {
  #offsetMs = 0;
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Lead of the server's clock over ours (ms), or 0 if they agree. */
  get offsetMs(): number {
    return this.#offsetMs;
  }

  /**
   * Learns from the `Date` header of a response that has just arrived, to a request sent at a moment of
   * `performance.now()`. The server wrote the header at any time since then.
   */
  observe(header: string | undefined, sentAt = performance.now()): void {
    const second = Date.parse(header ?? '');
    if (Number.isNaN(second)) return;
    const halfDelay = (performance.now() - sentAt) / 2;
    const ahead = second + 500 - this.#now() + halfDelay;
    const tolerance = TOLERANCE_MS + halfDelay;
    if (Math.abs(ahead - this.#offsetMs) <= tolerance) return;
    this.#offsetMs = Math.abs(ahead) <= tolerance ? 0 : ahead;
  }

  /** Returns the server's time at a moment of `performance.now()`. */
  at(moment: number): Date {
    return new Date(this.#now() + this.#offsetMs - (performance.now() - moment));
  }
}
