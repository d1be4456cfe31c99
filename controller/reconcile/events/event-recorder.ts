import { hash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_VERSION, GATEWAY_SYNC } from '../../../shared/api/group.ts';
import { FIELD_MANAGERS } from '../../../shared/api/names.ts';
import { keyOf, namespaceOf } from '../../../shared/domain/kubernetes/object-name.ts';
import { type Backoff, backoffMs } from '../../../shared/domain/limits/backoff.ts';
import { RateLimit } from '../../../shared/domain/limits/rate-limit.ts';
import { wholeSeconds } from '../../../shared/domain/text/duration.ts';
import { askedPauseMs, isApiError, isRetryable } from '../../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../../shared/io/kubernetes/reflector.ts';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../../shared/log.ts';
import type { ObservedGatewaySync } from '../../watch/observed-gateway-sync.ts';
import type { Transition } from './status-transitions.ts';

export interface EventRecorderOptions {
  client: KubernetesClient;
  /** Whether this process can write. */
  mayWrite: () => boolean;
  /** Called for every transition, for metrics. */
  onTransition: (reason: string) => void;
  /** Name of this replica. */
  instance: string;
}

/** Logs and counts each transition, and writes it as an event. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #limiter = new EventLimiter();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Doesn't wait for the events, which are written one by one in order. */
  record(gatewaySync: ObservedGatewaySync, transitions: Transition[], log: Logger): void {
    let previous: Promise<unknown> = Promise.resolve();
    for (const transition of transitions) {
      this.count(transition, log);
      previous = this.write(gatewaySync, transition, { log, previous });
    }
  }

  /** Logs and counts a transition. */
  count({ type, reason, message, pod }: Transition, log: Logger): void {
    this.#options.onTransition(reason);
    log[type === 'Warning' ? 'warn' : 'info']({ reason, detail: message, pod: pod?.name }, 'transition');
  }

  /**
   * Writes the event of a transition. Returns false if another attempt can succeed: the API server can't be reached, or
   * there were too many events.
   */
  async write(
    gatewaySync: ObservedGatewaySync,
    transition: Transition,
    { log, previous }: { log: Logger; previous?: Promise<unknown> },
  ): Promise<boolean> {
    const { client, instance, mayWrite } = this.#options;
    if (!mayWrite() || !this.#limiter.take(keyOf(gatewaySync), performance.now())) return false;
    const event = eventOf(gatewaySync, { transition, instance });
    await previous;
    try {
      await writeEvent(client, event, { mayWrite });
      return true;
    } catch (error) {
      log.warn({ err: error, reason: transition.reason }, 'event not recorded');
      // Forbidden, in a namespace that is being deleted, or invalid.
      return isApiError(error, 403, 404, 422);
    }
  }
}

const COMPONENT = `sync.io/${FIELD_MANAGERS.controller}`;
const MAX_MESSAGE = 1024;
const MAX_NAME = 253;

type Event = ReturnType<typeof eventOf>;

/**
 * Makes an event about a resource, or about the pod of a transition. If the transition has a time, the event has the
 * same name each time it is made. It uses v1 because events.k8s.io/v1 lacks
 * `lastTimestamp`, by which users and tools sort.
 */
export function eventOf(
  { namespace, name, uid, resourceVersion }: ObservedGatewaySync,
  { transition, instance }: { transition: Transition; instance: string },
) {
  const { type, reason, message, pod, since } = transition;
  const time = since ?? performance.timeOrigin + performance.now();
  const end = since === undefined ? randomBytes(2).toString('hex') : hash('sha1', reason).slice(0, 4);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: eventName(pod?.name ?? name, time, end), namespace },
    involvedObject: pod
      ? { apiVersion: 'v1', kind: 'Pod', namespace, ...pod }
      : { apiVersion: API_VERSION, kind: GATEWAY_SYNC.kind, namespace, name, uid, resourceVersion },
    type,
    reason,
    action: 'Reconcile',
    message: message.slice(0, MAX_MESSAGE).toWellFormed(),
    firstTimestamp: wholeSeconds(time),
    lastTimestamp: wholeSeconds(time),
    count: 1,
    eventTime: new Date(time).toISOString().replace('Z', '000Z'),
    source: { component: COMPONENT },
    reportingComponent: COMPONENT,
    reportingInstance: instance,
  };
}

interface WriteEventOptions {
  /** Whether this process can write. */
  mayWrite: () => boolean;
  /** Delays between the attempts. */
  backoff?: Backoff;
}

/** At most about two minutes in all. */
const ATTEMPTS = 8;
const BACKOFF: Backoff = { baseMs: 1_000, maxMs: 30_000, jitter: 0.5 };

/**
 * Writes an event, repeatedly if the API server is slow or unavailable; its name keeps it from being written twice.
 * Throws the last error.
 */
export async function writeEvent(
  client: KubernetesClient,
  event: Event,
  { mayWrite, backoff = BACKOFF }: WriteEventOptions,
): Promise<void> {
  const path = corePath('events', event.metadata.namespace);
  for (let failures = 1; ; failures += 1) {
    try {
      await client.create(path, event, { query: { fieldManager: FIELD_MANAGERS.controller } });
      return;
    } catch (error) {
      if (isApiError(error, 409)) return;
      if (failures === ATTEMPTS || !isRetryable(error)) throw error;
      const delayMs = Math.max(askedPauseMs(error), backoffMs(failures, backoff, Math.random()));
      await sleep(delayMs, undefined, { ref: false });
      // Another replica can have become the leader in the meantime.
      if (!mayWrite()) throw error;
    }
  }
}

/** Returns the subject's name and a chronological suffix, because events of one second are listed by name. */
function eventName(about: string, time: number, end: string): string {
  const microseconds = Math.round(time * 1_000);
  const suffix = `${microseconds.toString(16).padStart(14, '0')}${end}`;
  // No part of a name can end with a dot or a hyphen.
  const beginning = about.slice(0, MAX_NAME - suffix.length - 1).replace(/[-.]+$/, '');
  return `${beginning}.${suffix}`;
}

/** Event limits per resource, per namespace, and in total. */
const LIMITS = {
  resource: { perMinute: 3, burst: 12, maxKeys: 1_000 },
  namespace: { perMinute: 12, burst: 60, maxKeys: 1_000 },
  /** A start with thousands of resources must not cost as many events as status writes, which show the same. */
  all: { perMinute: 300, burst: 200, maxKeys: 1 },
};

/**
 * Keeps flapping resources, and many simultaneous changes, from flooding the API server. Each namespace has its own
 * budget, and half of the total is for namespaces that haven't used theirs recently.
 */
export class EventLimiter {
  readonly #resources = new RateLimit(LIMITS.resource);
  readonly #namespaces = new RateLimit(LIMITS.namespace);
  readonly #all = new RateLimit(LIMITS.all);

  /** Whether an event of the resource can be written now (ms of a monotonic clock). */
  take(key: ObjectKey, now: number): boolean {
    const namespace = namespaceOf(key);
    const isFirst = LIMITS.namespace.burst - this.#namespaces.left(namespace, now) < 1;
    if (this.#resources.left(key, now) < 1 || this.#namespaces.left(namespace, now) < 1) return false;
    if (this.#all.left('', now) < (isFirst ? 1 : LIMITS.all.burst / 2)) return false;
    this.#resources.count(key, now);
    this.#namespaces.count(namespace, now);
    this.#all.count('', now);
    return true;
  }
}
