/** Pauses that are kept; one has a few hundred bytes. */
const MAX_PAUSES = 1_000;

/**
 * Until when credentials are not to be used at a host; times of a monotonic clock, in milliseconds. Hosts and names of
 * Secrets are for tenants to choose, so the number is bounded: the one that was noted first goes first.
 */
export class Pauses {
  readonly #ends = new Map<string, number>();

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
    this.#ends.delete(credentials);
    this.#ends.set(credentials, until);
    const [oldest] = this.#ends.keys();
    if (this.#ends.size > MAX_PAUSES && oldest !== undefined) this.#ends.delete(oldest);
  }
}
