/**
 * Numbers the queries for a ref that the git server does not show yet. The answer to one serves until the next is due,
 * however long it takes and however often the resource is reconciled meanwhile. A restart starts again with a new query.
 */
export class Requeries {
  #number = 0;
  #dueAt = Number.POSITIVE_INFINITY;

  /** Number of the query whose answer counts now. */
  get number(): number {
    return this.#number;
  }

  /** Starts the next query if it is due; `now` is in milliseconds of a monotonic clock. */
  advance(now: number): void {
    if (now < this.#dueAt) return;
    this.#number += 1;
    this.#dueAt = Number.POSITIVE_INFINITY;
  }

  /** After an answer: plans the next query for a time of a monotonic clock (ms), or none. */
  plan(dueAt: number | undefined): void {
    this.#dueAt = dueAt ?? Number.POSITIVE_INFINITY;
  }
}
