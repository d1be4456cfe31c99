/**
 * Numbers the queries for a ref that the git server doesn't show yet. A response is valid until the next query is due,
 * no matter how often the resource is reconciled in the meantime. A restart begins with a new query.
 */
export class Requeries {
  #number = 0;
  #dueAt = Number.POSITIVE_INFINITY;

  /** Number of the query whose response is valid now. */
  get number(): number {
    return this.#number;
  }

  /** Starts the next query if it is due; `now` is the time of a monotonic clock (ms). */
  advance(now: number): void {
    if (now < this.#dueAt) return;
    this.#number += 1;
    this.#dueAt = Number.POSITIVE_INFINITY;
  }

  /** Schedules the next query after a response (ms of a monotonic clock), or none. */
  plan(dueAt: number | undefined): void {
    this.#dueAt = dueAt ?? Number.POSITIVE_INFINITY;
  }
}
