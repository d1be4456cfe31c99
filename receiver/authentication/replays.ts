import { createHash } from 'node:crypto';
import type { DeliveryHeaders } from '../sources/delivery.ts';

/** How long a delivery could be sent again by somebody else, in milliseconds: the time may be wrong by 5 minutes both ways. */
const WINDOW_MS = 600_000;

/** Deliveries that were taken not long ago, so that copies of them are told apart. Bounded: the oldest goes first. */
export class Replays {
  /** When each was taken, oldest first. */
  readonly #takenAt = new Map<string, number>();
  readonly #max: number;
  readonly #now: () => number;

  constructor(max = 10_000, now: () => number = () => performance.now()) {
    this.#max = max;
    this.#now = now;
  }

  has(key: string): boolean {
    const takenAt = this.#takenAt.get(key);
    return takenAt !== undefined && this.#now() - takenAt < WINDOW_MS;
  }

  remember(key: string): void {
    this.#takenAt.delete(key);
    this.#takenAt.set(key, this.#now());
    for (const [oldest, takenAt] of this.#takenAt) {
      if (this.#takenAt.size <= this.#max && this.#now() - takenAt < WINDOW_MS) return;
      this.#takenAt.delete(oldest);
    }
  }
}

/** Tells a delivery of Standard Webhooks from others: a sender that tries again signs another time, a copy cannot. */
export function replayKeyOf(headers: DeliveryHeaders): string {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}`;
  return createHash('sha256').update(signed, 'latin1').digest('base64');
}
