import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { LruMap } from '../../shared/domain/limits/lru-map.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { NamedSecrets } from '../agent-access/named-secrets.ts';
import { ReleaseKeeper } from '../releases/release-keeper.ts';
import { StatusThrottle } from './status/status-throttle.ts';
import type { Parts } from './wire-parts.ts';

/** Maximum number of subjects of events that are remembered, more than the pods that a status lists. */
const MAX_NOTED = 1_000;
/** Maximum number of phases; a cache that is behind the last write shows an earlier one. */
const MAX_PHASES = 8;
/** Time between two events about a subject (ms). An event expires after an hour, and a backoff lasts up to five minutes. */
const NOTED_MS = 50 * 60_000;

/** State of one GatewaySync that is kept between reconciles, until it is deleted. */
export class ResourceState {
  readonly throttle = new StatusThrottle();
  readonly requeries = new Requeries();
  readonly secrets: NamedSecrets;
  readonly releases: ReleaseKeeper;
  /** The status that was decided last, even if it isn't stored yet. */
  decided: GatewaySyncStatus | undefined;
  /** The events about the last phases: being written, stored, or to be written again at a monotonic time (ms). */
  readonly announced = new LruMap<string, 'writing' | 'stored' | number>(MAX_PHASES);
  #noted: LruMap<string, number> | undefined;

  constructor(key: ObjectKey, { client, caches, enqueue, secretReader, syncReads, releases }: Parts) {
    this.secrets = new NamedSecrets({
      reader: secretReader,
      cached: () => caches.gatewaySync(key),
      enqueue: () => enqueue(key),
    });
    this.releases = new ReleaseKeeper(client, { reading: syncReads, cached: () => releases.ownedBy(key) });
  }

  /** Notes the subject of an event, such as a foreign repository; false if it had one recently. `now` is monotonic (ms). */
  note(subject: string, now = performance.now()): boolean {
    this.#noted ??= new LruMap(MAX_NOTED);
    const notedAt = this.#noted.get(subject) ?? Number.NEGATIVE_INFINITY;
    if (now - notedAt < NOTED_MS) return false;
    this.#noted.set(subject, now);
    return true;
  }
}

/**
 * Numbers the queries for a ref that the git server doesn't show yet. A response is valid until the next query is due,
 * no matter how often the resource is reconciled in the meantime. A restart begins with a new query.
 */
export class Requeries {
  #number = 0;
  #dueAt = Number.POSITIVE_INFINITY;

  /** Number of the query whose response is valid now. */
  get number(): number {
    return this.#number;
  }

  /** Starts the next query if it is due; `now` is the time of a monotonic clock (ms). */
  advance(now: number): void {
    if (now < this.#dueAt) return;
    this.#number += 1;
    this.#dueAt = Number.POSITIVE_INFINITY;
  }

  /** Schedules the next query after a response (ms of a monotonic clock), or none. */
  plan(dueAt: number | undefined): void {
    this.#dueAt = dueAt ?? Number.POSITIVE_INFINITY;
  }
}
