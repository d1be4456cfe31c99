import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';

/**
 * Numbers the questions about a ref that a host does not show yet. The answer to one serves until the next is due,
 * however long it takes and however often a resource is reconciled meanwhile. Nothing is lost by a restart: it asks.
 */
export class Looks {
  readonly #looks = new Map<ObjectKey, { count: number; dueAt: number }>();

  /** Number of the look that counts now; the next one where that is due. */
  take(key: ObjectKey, now: number): number {
    const look = this.#looks.get(key);
    if (!look) return 0;
    if (now >= look.dueAt) {
      look.count += 1;
      look.dueAt = Number.POSITIVE_INFINITY;
    }
    return look.count;
  }

  /** After an answer: the next look is due at a time of a monotonic clock, in milliseconds, or not needed. */
  plan(key: ObjectKey, dueAt: number | undefined): void {
    const look = this.#looks.get(key);
    if (look) look.dueAt = dueAt ?? Number.POSITIVE_INFINITY;
    else if (dueAt !== undefined) this.#looks.set(key, { count: 0, dueAt });
  }

  forget(key: ObjectKey): void {
    this.#looks.delete(key);
  }
}
