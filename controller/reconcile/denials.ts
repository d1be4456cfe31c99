import { LruMap } from '../../shared/domain/lru-map.ts';
import { RateLimit } from '../../shared/domain/rate-limit.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import type { DeniedPod } from '../injection/app.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { EventRecorder } from './event-recorder.ts';
import type { RecentDenial } from './observation.ts';

export interface DenialsOptions {
  /** Not those of the leader: each replica serves admission, and records its denials. */
  events: Pick<EventRecorder, 'record'>;
  gatewaySync: (key: ObjectKey) => ObservedGatewaySync | undefined;
  /** Enqueues each resource whose pod was denied. */
  enqueue: (key: ObjectKey) => void;
  /** A monotonic clock (ms). */
  now?: () => number;
}

/** Period in which a denial counts (ms). Workloads retry within this time, and more often at first. */
const RECENT_MS = 5 * 60_000;
const MAX_RESOURCES = 1_000;
/** Admission runs before validation, so parts of a pod can have any length. */
const MAX_MESSAGE = 1_000;

/** Remembers the pods that admission denied on this replica, and records events on their GatewaySyncs. */
export class Denials {
  readonly #options: DenialsOptions;
  readonly #latest = new LruMap<ObjectKey, { uid: string | undefined; message: string; at: number }>(MAX_RESOURCES);
  /** By resource and message. */
  readonly #recorded = new RateLimit({ perMinute: 1, burst: 1, maxKeys: MAX_RESOURCES });
  readonly #now: () => number;

  constructor({ now = () => performance.now(), ...options }: DenialsOptions) {
    this.#options = options;
    this.#now = now;
  }

  add({ namespace, resources, message: unbounded }: DeniedPod): void {
    const message = unbounded.slice(0, MAX_MESSAGE).toWellFormed();
    for (const name of resources) {
      const key = `${namespace}/${name}`;
      const gatewaySync = this.#options.gatewaySync(key);
      this.#latest.set(key, { uid: gatewaySync?.uid, message, at: this.#now() });
      if (gatewaySync) this.#record(key, gatewaySync, message);
      this.#options.enqueue(key);
    }
  }

  /** Returns the latest denial of a pod of the resource. */
  latestOf(gatewaySync: Pick<ObservedGatewaySync, 'namespace' | 'name' | 'uid'>): RecentDenial | undefined {
    const { namespace, name, uid } = gatewaySync;
    const latest = this.#latest.get(`${namespace}/${name}`);
    if (!latest || (latest.uid ?? uid) !== uid) return undefined;
    const expiresInMs = latest.at + RECENT_MS - this.#now();
    return expiresInMs > 0 ? { message: latest.message, expiresInMs } : undefined;
  }

  #record(key: ObjectKey, gatewaySync: ObservedGatewaySync, message: string): void {
    if (!this.#recorded.take(`${key} ${message}`, this.#now())) return;
    this.#options.events.record(gatewaySync, [{ type: 'Warning', reason: 'PodRefused', message }]);
  }
}
