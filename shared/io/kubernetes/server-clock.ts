/** Differences below this are not told from what `Date` rounds off, in milliseconds. */
const TOLERANCE_MS = 1000;

/**
 * The time of the API server, as far as its answers tell it: they carry the full second (RFC 9110, `Date`). Times of
 * several replicas are compared with each other, so a clock of this machine that is wrong must not count.
 */
export class ServerClock {
  #offsetMs = 0;
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** How much the server's clock is ahead of ours, in milliseconds; 0 as long as the two agree. */
  get offsetMs(): number {
    return this.#offsetMs;
  }

  /** Learns from the `Date` header of an answer that has just come in. */
  observe(header: string | undefined): void {
    const second = Date.parse(header ?? '');
    if (Number.isNaN(second)) return;
    const ahead = second + 500 - this.#now();
    if (Math.abs(ahead - this.#offsetMs) <= TOLERANCE_MS) return;
    this.#offsetMs = Math.abs(ahead) <= TOLERANCE_MS ? 0 : ahead;
  }

  /** The server's time at a moment of `performance.now()`. */
  at(moment: number): Date {
    return new Date(this.#now() + this.#offsetMs - (performance.now() - moment));
  }
}
