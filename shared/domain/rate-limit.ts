export interface RateLimitOptions {
  /** How many a minute, in the long run; 0: no limit. */
  perMinute: number;
  /** How many at once. */
  burst: number;
  /** Keys that are remembered at most; the one that was idle longest is forgotten. */
  maxKeys: number;
}

/**
 * Counts events by key and tells which keys had too many of them, by the generic cell rate algorithm: one number for
 * each key, the time at which all of its events are paid off. Times are milliseconds of a clock that never goes back.
 */
export class RateLimit {
  readonly #paidOffAt = new Map<string, number>();
  readonly #options: RateLimitOptions;
  readonly #intervalMs: number;

  constructor(options: RateLimitOptions) {
    this.#options = options;
    this.#intervalMs = options.perMinute > 0 ? 60_000 / options.perMinute : 0;
  }

  /** Number of keys that are remembered. */
  get size(): number {
    return this.#paidOffAt.size;
  }

  /** Time until the key may have another event, in milliseconds; 0 where it may have one now. */
  waitMs(key: string, now: number): number {
    const paidOffAt = this.#paidOffAt.get(key);
    if (paidOffAt === undefined) return 0;
    return Math.max(0, paidOffAt - now - (this.#options.burst - 1) * this.#intervalMs);
  }

  /** Counts an event of the key. */
  count(key: string, now: number): void {
    if (this.#intervalMs === 0) return;
    const paidOffAt = Math.max(this.#paidOffAt.get(key) ?? 0, now) + this.#intervalMs;
    // Deleted first, so that the keys stay in the order of their last event.
    this.#paidOffAt.delete(key);
    this.#paidOffAt.set(key, paidOffAt);
    if (this.#paidOffAt.size > this.#options.maxKeys) this.#forgetOldest();
  }

  #forgetOldest(): void {
    for (const key of this.#paidOffAt.keys()) {
      this.#paidOffAt.delete(key);
      return;
    }
  }
}
