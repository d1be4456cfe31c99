import { RateLimit } from '../../shared/domain/rate-limit.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { Pacer } from '../../shared/io/pacer.ts';

/** A tenth of the processor's time (ms), and 300 ms of it at once: a request leads to two decisions. */
const LIMIT = { perMinute: 6_000, burst: 300, maxKeys: 10_000 };

/**
 * Keeps one resource from taking the processor from all others: a fleet of thousands of pods that change all the time
 * wakes it with every line of a watch. The more its decisions take, the fewer it gets, and between two of them the event
 * loop has its turn.
 */
export class Pace {
  readonly #pacer = new Pacer();
  readonly #limit = new RateLimit(LIMIT);
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Milliseconds until it is the resource's turn again; 0 for now. */
  waitMs(key: ObjectKey): number {
    return Math.ceil(this.#limit.waitMs(key, this.#now(), 0));
  }

  /** Runs synchronous work at the resource's expense, as soon as the event loop has had its turn. */
  async run<T>(key: ObjectKey, work: () => T): Promise<T> {
    return await this.#pacer.run(() => {
      const begun = this.#now();
      try {
        return work();
      } finally {
        this.#limit.count(key, begun, this.#now() - begun);
      }
    });
  }
}
