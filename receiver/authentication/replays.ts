import { createHash } from 'node:crypto';
import { LruMap } from '../../shared/domain/lru-map.ts';
import type { Signed } from './verify-standard-webhook.ts';

/** How long a delivery could be sent again by somebody else, in milliseconds: the time may be wrong by 5 minutes both ways. */
const WINDOW_MS = 600_000;
const MAX_FOR_ONE = 1000;
const MAX_TARGETS = 1000;

/**
 * Deliveries that were taken not long ago, so that copies of them are told apart. Bounded for each resource, so that
 * nobody can have those of another one forgotten: the oldest goes first.
 */
export class Replays {
  /** When each was taken, oldest first, by resource. */
  readonly #taken = new LruMap<string, Map<string, number>>(MAX_TARGETS);
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  has(target: string, key: string): boolean {
    const takenAt = this.#taken.get(target)?.get(key);
    return takenAt !== undefined && this.#now() - takenAt < WINDOW_MS;
  }

  remember(target: string, key: string): void {
    const ofTarget = this.#taken.get(target) ?? new Map<string, number>();
    this.#taken.set(target, ofTarget);
    ofTarget.delete(key);
    ofTarget.set(key, this.#now());
    for (const [oldest, takenAt] of ofTarget) {
      if (ofTarget.size <= MAX_FOR_ONE && this.#now() - takenAt < WINDOW_MS) break;
      ofTarget.delete(oldest);
    }
  }
}

/** Tells a delivery of Standard Webhooks from others: a sender that tries again signs another time, a copy cannot. */
export function replayKeyOf({ headers, body }: Pick<Signed, 'headers' | 'body'>): string {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.`;
  return createHash('sha256').update(signed, 'latin1').update(body).digest('base64');
}
