import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';

/** So many at once, and one more after each pause (milliseconds). */
interface Limits {
  burst: number;
  refillMs: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

const EACH: Limits = { burst: 12, refillMs: 20_000 };
/** A start with thousands of resources must not cost as many events as status writes: status and log say the same. */
const ALL: Limits = { burst: 200, refillMs: 200 };
/** Resources whose buckets are kept at most: a full bucket need not be remembered. */
const REMEMBERED = 1_000;

/** Keeps resources that flap, and many that change at once, from flooding the API server; a token bucket for each and one for all. */
export class EventLimiter {
  readonly #buckets = new Map<ObjectKey, Bucket>();
  #all: Bucket = { tokens: ALL.burst, at: 0 };

  /** Whether an event of the resource may be written now. */
  take(key: ObjectKey, now: number): boolean {
    const own = refill(this.#buckets.get(key), EACH, now);
    const all = refill(this.#all, ALL, now);
    const granted = own.tokens >= 1 && all.tokens >= 1;
    const cost = granted ? 1 : 0;
    this.#all = { tokens: all.tokens - cost, at: now };
    this.#buckets.delete(key);
    if (this.#buckets.size >= REMEMBERED) this.#forgetOldest();
    this.#buckets.set(key, { tokens: own.tokens - cost, at: now });
    return granted;
  }

  #forgetOldest(): void {
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }
}

function refill(bucket: Bucket | undefined, { burst, refillMs }: Limits, now: number): Bucket {
  if (!bucket) return { tokens: burst, at: now };
  return { tokens: Math.min(burst, bucket.tokens + (now - bucket.at) / refillMs), at: now };
}
