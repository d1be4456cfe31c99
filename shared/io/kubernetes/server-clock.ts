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

  /** Learns from the `Date` header of a response that has just arrived. */
  observe(header: string | undefined): void {
    const second = Date.parse(header ?? '');
    if (Number.isNaN(second)) return;
    const ahead = second + 500 - this.#now();
    if (Math.abs(ahead - this.#offsetMs) <= TOLERANCE_MS) return;
    this.#offsetMs = Math.abs(ahead) <= TOLERANCE_MS ? 0 : ahead;
  }

  /** Returns the server's time at a moment of `performance.now()`. */
  at(moment: number): Date {
    return new Date(this.#now() + this.#offsetMs - (performance.now() - moment));
  }
}
