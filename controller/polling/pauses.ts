import { LruMap } from '../../shared/domain/lru-map.ts';

/** Pauses that are kept; one has a few hundred bytes. */
const MAX_PAUSES = 1_000;

/**
 * Until when credentials are not to be used at a host; times of a monotonic clock, in milliseconds. Hosts and names of
 * Secrets are for tenants to choose, so the number is bounded: the one that was used least recently goes first.
 */
export class Pauses {
  readonly #ends = new LruMap<string, number>(MAX_PAUSES);

  get size(): number {
    return this.#ends.size;
  }

  /** 0 where there is no pause. */
  endOf(credentials: string, now: number): number {
    const end = this.#ends.get(credentials) ?? 0;
    if (end > now) return end;
    this.#ends.delete(credentials);
    return 0;
  }

  set(credentials: string, until: number): void {
    this.#ends.set(credentials, until);
  }
}
