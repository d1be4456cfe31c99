import { RateLimit } from '../../../shared/domain/limits/rate-limit.ts';
import type { ObjectKey } from '../../../shared/io/kubernetes/reflector.ts';
import { Pacer } from '../../../shared/io/pacer.ts';

/** A tenth of the CPU time (ms), in bursts of 300 ms, because a request results in two decisions. */
const LIMIT = { perMinute: 6_000, burst: 300, maxKeys: 10_000 };

/**
 * Keeps one resource from using all CPU time: thousands of pods that keep changing enqueue it with every watch event.
 * The longer its decisions take, the fewer it gets, and the event loop has its turn between two of them.
 */
export class Pace {
  readonly #pacer = new Pacer();
  readonly #limit = new RateLimit(LIMIT);
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Time until it is the resource's turn (ms); 0 for now. */
  waitMs(key: ObjectKey): number {
    return Math.ceil(this.#limit.waitMs(key, this.#now(), 0));
  }

  /** Runs synchronous work on the resource's budget, after the event loop has had its turn. */
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
