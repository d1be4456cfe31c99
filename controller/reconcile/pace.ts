import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { Pacer } from '../../shared/io/pacer.ts';

/** A key has one part in so many of the processor's time at most, but for a moment. */
const SHARE = 10;
/** After a pause of so many milliseconds a key may take its share of them at once: a request leads to two decisions. */
const CREDIT_MS = 3_000;

/**
 * Keeps one resource from taking the processor from all others: a fleet of thousands of pods that change all the time
 * wakes it with every line of a watch. The more its decisions take, the fewer it gets, and between two of them the event
 * loop has its turn. The generic cell rate algorithm, with time in place of cells.
 */
export class Pace {
  readonly #pacer = new Pacer();
  readonly #now: () => number;
  /** When what a key took will have been its share, in milliseconds of a monotonic clock. */
  readonly #evenAt = new Map<ObjectKey, number>();

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Milliseconds until it is a key's turn again; 0 for now. */
  waitFor(key: ObjectKey): number {
    return Math.max(0, Math.ceil((this.#evenAt.get(key) ?? 0) - this.#now()));
  }

  /** Runs synchronous work for a key, at its expense, as soon as the event loop has had its turn. */
  async run<T>(key: ObjectKey, work: () => T): Promise<T> {
    return await this.#pacer.run(() => {
      const begun = this.#now();
      try {
        return work();
      } finally {
        const now = this.#now();
        const from = Math.max(this.#evenAt.get(key) ?? 0, begun - CREDIT_MS);
        this.#evenAt.set(key, from + SHARE * (now - begun));
      }
    });
  }

  /** Drops what is kept of a resource. */
  forget(key: ObjectKey): void {
    this.#evenAt.delete(key);
  }
}
