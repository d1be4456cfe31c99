import { once } from 'node:events';
import { keyOf } from '../shared/domain/kubernetes/object-name.ts';
import { backoffMs } from '../shared/domain/limits/backoff.ts';
import type { Priority } from '../shared/domain/limits/priority-turns.ts';
import { spreadPause } from '../shared/domain/text/duration.ts';
import { ApiError, askedPauseMs } from '../shared/io/kubernetes/api-error.ts';
import { DEFAULT_TIMEOUT_MS } from '../shared/io/kubernetes/client.ts';
import { IDLE_TIMEOUT_MS } from '../shared/io/kubernetes/list.ts';
import type { Change, ObjectKey } from '../shared/io/kubernetes/reflector.ts';
import type { ControllerConfig } from './config.ts';
import { hubKeyOf } from './intent/hub.ts';
import type { Loop } from './leadership/liveness.ts';
import type { Metrics } from './metrics/metrics.ts';
import { renderResources } from './metrics/resource-metrics.ts';
import { WORKLOAD_KINDS } from './missing-sidecars/unmade-pods.ts';
import {
  affectedByGatewaySync,
  affectedByPod,
  affectedByRelease,
  affectedByReport,
  affectedByRoleBinding,
  affectsFollowers,
  priorityOf,
} from './reconcile/queue/affected.ts';
import { KeyedQueue, type Requeue } from './reconcile/queue/queue.ts';
import { Reconciler } from './reconcile/reconcile.ts';
import { type ControllerPorts, type ControllerTimes, type Parts, wireParts } from './reconcile/wire-parts.ts';
import { Caches } from './watch/caches.ts';
import type { ObservedGatewaySync } from './watch/observed-gateway-sync.ts';
import { OwnerIndex } from './watch/owner-index.ts';

/** Number of workers; one namespace uses at most half of them. */
const CONCURRENCY = 16;
const MINUTE_MS = 60_000;
/**
 * Maximum calls of one reconcile: up to 10 for the status, 45 for releases, and 5 for permissions, the token, and Secrets.
 * Because resources read Secrets and spec.sync in turn, a reconcile can wait for as many calls of others.
 */
const RECONCILE_CALLS = 60;
/** Maximum lists of a reconcile, the first of its namespace: pods, and each kind of workload. */
const RECONCILE_LISTS = 1 + WORKLOAD_KINDS.length;
/**
 * Time after which a reconcile is stuck (ms). An API server that is slow, but responds within the limits of the client,
 * must not cause a restart, which would only add load. The last minute is for the program itself.
 */
const RECONCILE_LIMIT_MS = 2 * RECONCILE_CALLS * DEFAULT_TIMEOUT_MS + RECONCILE_LISTS * IDLE_TIMEOUT_MS + MINUTE_MS;
const BACKOFF = { baseMs: 500, maxMs: 300_000, jitter: 0.25 };

/** Watches on every replica, and reconciles on the leader. */
export class Controller {
  readonly caches: Caches;
  readonly #ports: ControllerPorts;
  readonly #queue: KeyedQueue;
  readonly #followers = new OwnerIndex<ObservedGatewaySync>(hubKeyOf);
  readonly #parts: Parts;
  readonly #reconciler: Reconciler;

  /** All parts cause a reconcile only through `enqueue`. */
  constructor(ports: ControllerPorts, config: ControllerConfig, times: ControllerTimes = {}) {
    this.#ports = ports;
    this.#queue = new KeyedQueue({
      concurrency: CONCURRENCY,
      backoffMs: retryAfterMs,
      onTaken: (seconds) => ports.metrics.queueSeconds.observe(seconds),
      log: ports.log,
    });
    this.caches = this.#makeCaches(config);
    const enqueue = (key: ObjectKey) => this.#enqueue(key);
    this.#parts = wireParts(ports, config, { caches: this.caches, queue: this.#queue, enqueue, times });
    this.#reconciler = new Reconciler(this.#parts);
  }

  /** Reconciles until the signal aborts, and returns when the work in progress has ended. */
  async lead(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const stopped = once(signal, 'abort');
    await Promise.race([this.caches.firstSync(), stopped]);
    if (signal.aborted) return;
    const first = [...this.caches.gatewaySyncs()].map((each) => ({
      key: keyOf(each),
      priority: this.#priorityOf(each),
    }));
    const sweeping = Promise.all([this.#parts.missingGateways.run(signal), this.#parts.releaseCleanUp.run(signal)]);
    this.#queue.start((key, attempt) => this.#handle(key, attempt), first);
    await stopped;
    this.#parts.repositories.stop();
    this.#parts.commitStatuses.stop();
    await Promise.all([this.#queue.stop(), sweeping]);
  }

  /** The loops that liveness checks. Each limit exceeds the time limits of everything that the loop does. */
  get loops(): Loop[] {
    return [
      { name: 'watches', stuckForMs: () => this.caches.stuckForMs, limitMs: 10 * MINUTE_MS },
      { name: 'queue', stuckForMs: () => this.#queue.stuckForMs, limitMs: RECONCILE_LIMIT_MS },
      { name: 'polling', stuckForMs: () => this.#parts.repositories.stuckForMs, limitMs: 5 * MINUTE_MS },
    ];
  }

  /** Returns the page of all metrics. */
  async metricsPage(): Promise<Buffer> {
    const { metrics, mayWrite } = this.#ports;
    metrics.queueDepth.set(this.#queue.depth);
    metrics.resources.set([...this.caches.gatewaySyncs()].length);
    metrics.podsMissingSidecar.set(this.#parts.missingGateways.count);
    const leads = mayWrite();
    metrics.leader.set(leads ? 1 : 0);
    const resources = await renderResources(leads ? this.caches.gatewaySyncs() : []);
    return Buffer.concat([Buffer.from(await metrics.registry.metrics()), resources]);
  }

  #makeCaches({ WATCH_NAMESPACES: namespaces, AUTO_BIND_AGENT: roleBindings }: ControllerConfig): Caches {
    const { client, serverTime, metrics, log } = this.#ports;
    const onRestart = (kind: string, reason: string) => metrics.watchRestarts.inc({ kind, reason });
    return new Caches(
      { client, namespaces, roleBindings, log, serverTime, onRestart },
      {
        onGatewaySync: (change) => this.#onGatewaySync(change),
        onPod: (change) => {
          this.#parts.pods.update(change);
          this.#enqueueAll(affectedByPod(change));
        },
        onRelease: (change) => {
          this.#parts.releases.update(change);
          this.#enqueueAll(affectedByRelease(change));
        },
        onReport: (change) => this.#enqueueAll(affectedByReport(change, this.caches.pod(change.key))),
        onRoleBinding: (change) => this.#enqueueAll(affectedByRoleBinding(change)),
      },
    );
  }

  async #handle(key: ObjectKey, attempt: number): Promise<Requeue> {
    try {
      return await measureReconcile(this.#ports.metrics, () => this.#reconciler.reconcile(key));
    } catch (error) {
      this.#reconciler.onFailure(key, attempt, error);
      throw error;
    }
  }

  #onGatewaySync(change: Change<ObservedGatewaySync>): void {
    this.#followers.update(change);
    if (change.type === 'deleted') {
      this.#queue.forget(change.key);
      this.#reconciler.forget(change.key);
      void this.#parts.releaseCleanUp.onDeleted(change.key);
    } else {
      this.#reconciler.onWatchEvent(change.key, change.object, change.previous);
      if (affectedByGatewaySync(change).length > 0) this.#refresh(change.object);
    }
    if (!affectsFollowers(change)) return;
    for (const follower of this.#followers.ownedBy(change.key)) this.#refresh(follower);
  }

  /** Includes the refs of a resource in the next query before any resource sends it, and enqueues the resource. */
  #refresh(gatewaySync: ObservedGatewaySync): void {
    const key = keyOf(gatewaySync);
    this.#reconciler.subscribe(key, gatewaySync);
    this.#enqueue(key);
  }

  #enqueueAll(keys: ObjectKey[]): void {
    for (const key of keys) this.#enqueue(key, 'high');
  }

  /** Enqueues a resource unless it is gone. If omitted, the priority is high if the resource waits for a result. */
  #enqueue(key: ObjectKey, priority?: Priority): void {
    const gatewaySync = this.caches.gatewaySync(key);
    if (gatewaySync) this.#queue.add(key, priority ?? this.#priorityOf(gatewaySync));
  }

  #priorityOf(gatewaySync: ObservedGatewaySync): Priority {
    return priorityOf(gatewaySync, (key) => this.caches.gatewaySync(key));
  }
}

/** Runs a reconcile, and counts and times it, unless it is deferred. */
export async function measureReconcile(
  { reconciles, reconcileSeconds }: Pick<Metrics, 'reconciles' | 'reconcileSeconds'>,
  reconcile: () => Promise<Requeue>,
): Promise<Requeue> {
  const end = reconcileSeconds.startTimer();
  const count = (outcome: 'success' | 'failure') => {
    end();
    reconciles.inc({ outcome });
  };
  try {
    const requeue = await reconcile();
    if (!requeue?.isDeferred) count('success');
    return requeue;
  } catch (error) {
    count('failure');
    throw error;
  }
}

/**
 * Delay before the next attempt (ms). Errors come from the API server or are bugs; git servers have a separate backoff.
 */
export function retryAfterMs(failures: number, error: unknown): number {
  if (error instanceof ApiError && error.retryAfterMs !== undefined)
    return Math.max(BACKOFF.baseMs, spreadPause(askedPauseMs(error), Math.random()));
  return backoffMs(failures, BACKOFF, Math.random());
}
