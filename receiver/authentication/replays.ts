import { createHash } from 'node:crypto';
import { LruMap } from '../../shared/domain/limits/lru-map.ts';
import type { Signed } from './verify-standard-webhook.ts';

/** Period in which a delivery could be replayed (ms), because its time can differ by 5 minutes in both directions. */
const WINDOW_MS = 600_000;
const MAX_FOR_ONE = 1000;
const MAX_RESOURCES = 1000;

/**
 * Remembers recently accepted deliveries to detect copies. Limited per resource, so that deliveries for one resource can't
 * evict another resource's entries.
 */
export class Replays {
  /** Time of acceptance of each delivery, oldest first, per resource. */
  readonly #taken = new LruMap<string, Map<string, number>>(MAX_RESOURCES);
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  has(resource: string, key: string): boolean {
    const takenAt = this.#taken.get(resource)?.get(key);
    return takenAt !== undefined && this.#now() - takenAt < WINDOW_MS;
  }

  remember(resource: string, key: string): void {
    const ofResource = this.#taken.get(resource) ?? new Map<string, number>();
    this.#taken.set(resource, ofResource);
    ofResource.delete(key);
    ofResource.set(key, this.#now());
    for (const [oldest, takenAt] of ofResource) {
      if (ofResource.size <= MAX_FOR_ONE && this.#now() - takenAt < WINDOW_MS) break;
      ofResource.delete(oldest);
    }
  }
}

/** Identifies a delivery of Standard Webhooks. A sender signs a new time for each retry, which a copy can't do. */
export function replayKeyOf({ headers, body }: Pick<Signed, 'headers' | 'body'>): string {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.`;
  return createHash('sha256').update(signed, 'latin1').update(body).digest('base64');
}
