import { randomBytes } from 'node:crypto';
import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { Transition } from './transitions.ts';

const EVENTS = 'events.k8s.io/v1';
const MAX_NOTE = 1024;

/** Writes an event about a resource (events.k8s.io/v1). */
export async function recordEvent(
  client: KubernetesClient,
  { namespace, name, uid, resourceVersion }: ObservedGatewaySync,
  { transition, instance }: { transition: Transition; instance: string },
): Promise<void> {
  await client.create(
    groupPath(EVENTS, 'events', namespace),
    {
      apiVersion: EVENTS,
      kind: 'Event',
      metadata: { name: `${name}.${randomBytes(8).toString('hex')}`, namespace },
      eventTime: new Date().toISOString().replace('Z', '000Z'),
      reportingController: `sync.io/${FIELD_MANAGERS.controller}`,
      reportingInstance: instance,
      action: 'Reconcile',
      type: transition.type,
      reason: transition.reason,
      note: transition.message.slice(0, MAX_NOTE),
      regarding: { apiVersion: API_VERSION, kind: GATEWAY_SYNC.kind, namespace, name, uid, resourceVersion },
    },
    { timeoutMs: 5_000 },
  );
}

/** So many at once, and one more after each pause (milliseconds). */
interface Limits {
  burst: number;
  refillMs: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

const EACH: Limits = { burst: 12, refillMs: 20_000 };
/** A start with thousands of resources must not cost as many events as status writes: status and log say the same. */
const ALL: Limits = { burst: 200, refillMs: 200 };
/** Resources whose buckets are kept at most: a full bucket need not be remembered. */
const REMEMBERED = 1_000;

/** Keeps resources that flap, and many that change at once, from flooding the API server; a token bucket for each and one for all. */
export class EventLimiter {
  readonly #buckets = new Map<ObjectKey, Bucket>();
  #all: Bucket = { tokens: ALL.burst, at: 0 };

  /** Whether an event of the resource may be written now. */
  take(key: ObjectKey, now: number): boolean {
    const own = refill(this.#buckets.get(key), EACH, now);
    const all = refill(this.#all, ALL, now);
    const granted = own.tokens >= 1 && all.tokens >= 1;
    const cost = granted ? 1 : 0;
    this.#all = { tokens: all.tokens - cost, at: now };
    this.#buckets.delete(key);
    if (this.#buckets.size >= REMEMBERED) this.#forgetOldest();
    this.#buckets.set(key, { tokens: own.tokens - cost, at: now });
    return granted;
  }

  #forgetOldest(): void {
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }
}

function refill(bucket: Bucket | undefined, { burst, refillMs }: Limits, now: number): Bucket {
  if (!bucket) return { tokens: burst, at: now };
  return { tokens: Math.min(burst, bucket.tokens + (now - bucket.at) / refillMs), at: now };
}
