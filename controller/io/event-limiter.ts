import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';

/** Events of one resource: so many at once, and one more after each pause (milliseconds). */
const BURST = 12;
const REFILL_MS = 20_000;
/** Resources whose buckets are kept at most: a full bucket need not be remembered. */
const REMEMBERED = 1_000;

/** Keeps a resource that flaps from flooding the events of its namespace; a token bucket for each. */
export class EventLimiter {
  readonly #buckets = new Map<ObjectKey, { tokens: number; at: number }>();

  /** Whether an event of the resource may be written now. */
  take(key: ObjectKey, now: number): boolean {
    const { tokens, at } = this.#buckets.get(key) ?? { tokens: BURST, at: now };
    const available = Math.min(BURST, tokens + (now - at) / REFILL_MS);
    this.#buckets.delete(key);
    if (this.#buckets.size >= REMEMBERED) this.#forgetOldest();
    this.#buckets.set(key, { tokens: available >= 1 ? available - 1 : available, at: now });
    return available >= 1;
  }

  #forgetOldest(): void {
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }
}
