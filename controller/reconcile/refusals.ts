import { LruMap } from '../../shared/domain/lru-map.ts';
import { RateLimit } from '../../shared/domain/rate-limit.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import type { Logger } from '../../shared/log.ts';
import type { Refusal } from '../injection/app.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { RecentRefusal } from './observation.ts';
import { EventLimiter, recordEvent } from './record-event.ts';

export interface RefusalsOptions {
  /** Not the fenced one: each replica serves admission, and records the denials that it made. */
  client: KubernetesClient;
  gatewaySync: (key: ObjectKey) => ObservedGatewaySync | undefined;
  /** Called for each resource whose pod was denied. */
  enqueue: (key: ObjectKey) => void;
  /** Name of this replica, for events. */
  instance: string;
  log: Logger;
  /** A monotonic clock (ms). */
  now?: () => number;
}

/** Time for which a denial counts (ms): workloads try again within this time, at first more often. */
const RECENT_MS = 5 * 60_000;
const MAX_RESOURCES = 1_000;
/** A pod isn't validated before admission, so its parts have any length. */
const MAX_MESSAGE = 1_000;

/** Remembers the pods that admission on this replica denied, and records an event on their GatewaySyncs. */
export class Refusals {
  readonly #options: RefusalsOptions;
  readonly #latest = new LruMap<ObjectKey, { uid: string | undefined; message: string; at: number }>(MAX_RESOURCES);
  /** By resource and message. */
  readonly #recorded = new RateLimit({ perMinute: 1, burst: 1, maxKeys: MAX_RESOURCES });
  readonly #events = new EventLimiter();
  readonly #now: () => number;

  constructor({ now = () => performance.now(), ...options }: RefusalsOptions) {
    this.#options = options;
    this.#now = now;
  }

  add({ namespace, resources, message: unbounded }: Refusal): void {
    const message = unbounded.slice(0, MAX_MESSAGE).toWellFormed();
    for (const name of resources) {
      const key = `${namespace}/${name}`;
      this.#latest.set(key, { uid: this.#options.gatewaySync(key)?.uid, message, at: this.#now() });
      this.#record(key, message);
      this.#options.enqueue(key);
    }
  }

  /** The latest denial of a pod that was meant for the resource. */
  latestOf({
    namespace,
    name,
    uid,
  }: Pick<ObservedGatewaySync, 'namespace' | 'name' | 'uid'>): RecentRefusal | undefined {
    const latest = this.#latest.get(`${namespace}/${name}`);
    const isOfThis = latest !== undefined && (latest.uid ?? uid) === uid;
    const expiresInMs = isOfThis ? latest.at + RECENT_MS - this.#now() : 0;
    return isOfThis && expiresInMs > 0 ? { message: latest.message, expiresInMs } : undefined;
  }

  #record(key: ObjectKey, message: string): void {
    const { client, gatewaySync, instance, log } = this.#options;
    const resource = gatewaySync(key);
    const now = this.#now();
    const about = `${key} ${message}`;
    if (!resource || this.#recorded.waitMs(about, now) > 0 || !this.#events.take(key, now)) return;
    this.#recorded.count(about, now);
    const transition = { type: 'Warning', reason: 'PodRefused', message } as const;
    recordEvent(client, resource, { transition, instance }).catch((error: unknown) =>
      log.warn({ err: error, key }, 'event not recorded'),
    );
  }
}
