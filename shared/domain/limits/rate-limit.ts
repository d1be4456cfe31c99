import { LruMap } from './lru-map.ts';

export interface RateLimitOptions {
  /** Average number of events per minute; 0 disables the limit. */
  perMinute: number;
  /** Maximum number of events at once. */
  burst: number;
  /** Maximum number of keys that are remembered. */
  maxKeys: number;
}

/**
 * A token bucket for each key, as one number: the time at which all of its events are paid off (the generic cell rate
 * algorithm). Times are milliseconds of a monotonic clock.
 */
export class RateLimit {
  readonly #paidOffAt: LruMap<string, number>;
  readonly #burst: number;
  readonly #intervalMs: number;

  constructor({ perMinute, burst, maxKeys }: RateLimitOptions) {
    this.#paidOffAt = new LruMap(maxKeys);
    this.#burst = burst;
    this.#intervalMs = perMinute > 0 ? 60_000 / perMinute : 0;
  }

  /** Events allowed for the key now, including a fraction. */
  left(key: string, now: number): number {
    return this.#intervalMs === 0 ? this.#burst : this.#burst - this.#debtMs(key, now) / this.#intervalMs;
  }

  /** Milliseconds until the next event of the key is allowed; 0 if it's allowed now. */
  waitMs(key: string, now: number, events = 1): number {
    return Math.max(0, this.#debtMs(key, now) - (this.#burst - events) * this.#intervalMs);
  }

  /** Counts events of the key, even if they exceed the limit. */
  count(key: string, now: number, events = 1): void {
    if (this.#intervalMs > 0) this.#paidOffAt.set(key, now + this.#debtMs(key, now) + events * this.#intervalMs);
  }

  /** Counts an event of the key if it's allowed now, and returns whether it is. */
  take(key: string, now: number): boolean {
    const isFree = this.waitMs(key, now) === 0;
    if (isFree) this.count(key, now);
    return isFree;
  }

  #debtMs(key: string, now: number): number {
    return Math.max(0, (this.#paidOffAt.get(key) ?? now) - now);
  }
}
