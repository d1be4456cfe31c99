import { backoffMs } from '../../shared/domain/limits/backoff.ts';

/** Number of consecutive refusals expected at startup: the controller grants permissions when it sees the pod. */
const EXPECTED = 30;
const BACKOFF = { baseMs: 1_000, maxMs: 60_000, jitter: 0 };

/**
 * Counts consecutive 403s and determines the delays of retries. If permissions are never granted or were revoked, the
 * GatewaySync is usually gone: the agent must not query the API server every second, or log the same line, forever.
 */
export class Refusals {
  #count = 0;
  #expected = EXPECTED;

  /** Records a 403, and returns the delay before the next try (ms). */
  next(): number {
    this.#count += 1;
    return backoffMs(this.#count - this.#expected + 1, BACKOFF, 0);
  }

  /** Whether the last refusal deserves a warning: the first, second, fourth, eighth … consecutive one. */
  get isNews(): boolean {
    return Number.isInteger(Math.log2(this.#count));
  }

  /** Records that the permission existed. */
  end(): void {
    this.#count = 0;
    this.#expected = 1;
  }
}
