/** So many questions at once, and one more after each pause (milliseconds). */
const LIMITS = { burst: 6, pauseMs: 10_000 };

/** Bounds how often a resource may have a host asked for commits: whoever makes hashes up can make up any number. */
export class CommitBudget {
  /** When the questions of a resource are paid off, by the generic cell rate algorithm. */
  readonly #paidOffAt = new Map<string, number>();

  /** Counts a question; or gives the milliseconds until the resource may ask again. Times are of a monotonic clock. */
  take(key: string, now: number): number {
    const paidOffAt = Math.max(this.#paidOffAt.get(key) ?? 0, now);
    const waitMs = paidOffAt - now - (LIMITS.burst - 1) * LIMITS.pauseMs;
    if (waitMs > 0) return waitMs;
    this.#paidOffAt.set(key, paidOffAt + LIMITS.pauseMs);
    return 0;
  }

  /** Drops what is kept of a resource that is gone. */
  forget(key: string): void {
    this.#paidOffAt.delete(key);
  }
}
