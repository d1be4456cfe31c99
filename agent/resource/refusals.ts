import { backoffMs } from '../../shared/domain/backoff.ts';

/** So many refusals in a row are expected of an agent that starts: the controller grants the rights when it sees the pod. */
const EXPECTED = 30;
const BACKOFF = { baseMs: 1_000, maxMs: 60_000, jitter: 0 };

/**
 * Counts 403s in a row, and says when to try again. Rights that do not come, or that were taken away, are those of a
 * GatewaySync that is gone: the API server is not to be asked each second for ever, and nobody reads the same line again
 * and again.
 */
export class Refusals {
  #count = 0;
  #expected = EXPECTED;

  /** Takes note of a 403; gives the milliseconds before the next try. */
  next(): number {
    this.#count += 1;
    return backoffMs(this.#count - this.#expected + 1, BACKOFF, 0);
  }

  /** Whether the last refusal is worth a warning: the first, the second, the fourth, the eighth … in a row. */
  get isNews(): boolean {
    return Number.isInteger(Math.log2(this.#count));
  }

  /** Takes note that there was the right. */
  end(): void {
    this.#count = 0;
    this.#expected = 1;
  }
}
