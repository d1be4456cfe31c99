import { randomUUID } from 'node:crypto';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { agentRoleBindingName, FIELD_MANAGERS } from '../../shared/api/names.ts';
import { parseDuration } from '../../shared/domain/duration.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import type { Caches } from '../caches.ts';
import { chooseIntent } from '../domain/choose-intent.ts';
import { neededRefs } from '../domain/judge-intent.ts';
import { mergePatchOf } from '../domain/merge-patch.ts';
import { type ObservedGatewaySync, projectGatewaySync } from '../domain/observed-gateway-sync.ts';
import type { ObservedPod } from '../domain/observed-pod.ts';
import type { GitTokenKeeper } from '../git-token-keeper.ts';
import { EventLimiter } from '../io/event-limiter.ts';
import { recordEvent } from '../io/record-event.ts';
import { ensureRoleBinding } from '../io/role-binding.ts';
import type { Repositories, Subscription } from '../polling/repositories.ts';
import type { Outcome } from '../queue.ts';
import { type Decision, decide } from './decide.ts';
import type { Observation } from './observation.ts';
import { resolvingStatus } from './resolving-status.ts';
import { StatusThrottle } from './status-throttle.ts';

export interface ReconcilerOptions {
  client: KubernetesClient;
  caches: Caches;
  repositories: Repositories;
  /** Injected pods of a resource, and pods that ask for the sidecar and have none. */
  podsOf: (gatewaySync: ObservedGatewaySync) => { pods: ObservedPod[]; missing: ObservedPod[] };
  /** Whether this process may write. */
  mayWrite: () => boolean;
  bindAgents: boolean;
  /** Undefined where GitHub Apps are not enabled. */
  gitTokens: GitTokenKeeper | undefined;
  /** Told of every transition: for metrics. */
  onTransition: (reason: string) => void;
  /** Name of this replica, for events. */
  instance: string;
  log: Logger;
}

/** How long a query may take before the status says that it is under way, in milliseconds. */
const RESOLVING_AFTER_MS = 1_000;
const DEFAULT_INTERVAL_MS = 60_000;
const TOKEN_RETRY_MS = 60_000;

/** Brings one resource in line: observe, decide, apply, one status write. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  /** What was written and may not have come back by the watch yet. */
  readonly #written = new Map<ObjectKey, ObservedGatewaySync>();
  readonly #throttle = new StatusThrottle();
  readonly #events = new EventLimiter();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** Handles one key of the queue. What it throws is tried again with back-off. */
  async reconcile(key: ObjectKey): Promise<Outcome> {
    const gatewaySync = this.#latest(key);
    if (!gatewaySync || gatewaySync.deleting) {
      this.forget(key);
      return undefined;
    }
    const log = this.#options.log.child({
      namespace: gatewaySync.namespace,
      name: gatewaySync.name,
      reconcileId: randomUUID(),
    });
    const observation = await this.#observe(key, gatewaySync);
    const decision = decide(observation, Date.now());
    await this.#apply(gatewaySync, decision);
    const renewInMs = await this.#supplyToken(key, gatewaySync, log);
    const waitMs = this.#throttle.waitFor(key, gatewaySync.status, decision.status, performance.now());
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    await this.#writeStatus(key, decision.status);
    this.#announce(gatewaySync, decision, log);
    const appointments = [renewInMs, decision.retryAfterMs].filter((delay) => delay !== undefined);
    return appointments.length > 0 ? { requeueAfterMs: Math.min(...appointments) } : undefined;
  }

  /** Lets the next query of its repository ask for what this resource needs, so that many cost one query. */
  announce(key: ObjectKey, gatewaySync: ObservedGatewaySync): void {
    if (gatewaySync.spec.paused || gatewaySync.deleting) return;
    const needs = neededRefs(gatewaySync, chooseIntent(gatewaySync));
    this.#options.repositories.subscribe(key, subscriptionOf(gatewaySync, needs));
  }

  /** Drops what is kept of a resource. */
  forget(key: ObjectKey): void {
    this.#options.repositories.forget(key);
    this.#written.delete(key);
    this.#throttle.forget(key);
    this.#options.gitTokens?.forget(key);
  }

  /** The cache, or what was written later than it. */
  #latest(key: ObjectKey): ObservedGatewaySync | undefined {
    const cached = this.#options.caches.gatewaySync(key);
    const written = this.#written.get(key);
    if (!cached || !written || cached.uid !== written.uid) return cached;
    if (BigInt(written.resourceVersion) > BigInt(cached.resourceVersion)) return { ...cached, status: written.status };
    this.#written.delete(key);
    return cached;
  }

  async #observe(key: ObjectKey, gatewaySync: ObservedGatewaySync): Promise<Observation> {
    const intent = chooseIntent(gatewaySync);
    const { caches, repositories, podsOf } = this.#options;
    const reportOf = (pod: ObservedPod) => caches.report(`${pod.namespace}/${pod.name}`);
    if (gatewaySync.spec.paused) {
      repositories.forget(key);
      return { gatewaySync, intent, answer: undefined, reportOf, ...podsOf(gatewaySync) };
    }
    const asksAnew = intent.request !== undefined || intent.push !== undefined;
    const query = repositories.ask(key, subscriptionOf(gatewaySync, neededRefs(gatewaySync, intent)), asksAnew);
    const answer = await this.#announceIfSlow(key, query);
    return { gatewaySync, intent, answer, reportOf, ...podsOf(gatewaySync) };
  }

  /** A quick answer makes one write; a slow one shows that something is under way. */
  async #announceIfSlow<T>(key: ObjectKey, query: Promise<T>): Promise<T> {
    const slow = Promise.withResolvers<'slow'>();
    const timer = setTimeout(() => slow.resolve('slow'), RESOLVING_AFTER_MS);
    try {
      if ((await Promise.race([query, slow.promise])) === 'slow') {
        const current = this.#latest(key);
        if (current) await this.#writeStatus(key, resolvingStatus(current, Date.now()));
      }
      return await query;
    } finally {
      clearTimeout(timer);
    }
  }

  async #apply(gatewaySync: ObservedGatewaySync, { serviceAccounts }: Decision): Promise<void> {
    const { client, caches, bindAgents, mayWrite } = this.#options;
    if (!bindAgents || !mayWrite()) return;
    const { namespace, name } = gatewaySync;
    const current = caches.roleBinding(`${namespace}/${agentRoleBindingName(name)}`);
    await ensureRoleBinding(client, gatewaySync, { serviceAccounts, current });
  }

  /** What goes wrong here shows in status by the query, which needs the same token. */
  async #supplyToken(key: ObjectKey, gatewaySync: ObservedGatewaySync, log: Logger): Promise<number | undefined> {
    const { gitTokens, mayWrite } = this.#options;
    if (!gitTokens || !mayWrite()) return undefined;
    try {
      return await gitTokens.supply(key, gatewaySync);
    } catch (error) {
      log.warn({ err: error }, 'no token handed over to the agents');
      return TOKEN_RETRY_MS;
    }
  }

  async #writeStatus(key: ObjectKey, status: GatewaySyncStatus): Promise<void> {
    const current = this.#latest(key);
    const patch = current && mergePatchOf(current.status, status);
    if (!current || !patch || !this.#options.mayWrite()) return;
    const path = `${gatewaySyncPath(current.namespace, current.name)}/status`;
    try {
      const body = { metadata: { uid: current.uid }, status: patch };
      const stored = await this.#options.client.mergePatch<GatewaySync>(path, body, {
        query: { fieldManager: FIELD_MANAGERS.controller },
      });
      this.#written.set(key, projectGatewaySync(stored));
    } catch (error) {
      if (!isApiError(error, 404, 409)) throw error; // deleted, or made anew under the same name
    }
  }

  #announce(gatewaySync: ObservedGatewaySync, { transitions }: Decision, log: Logger): void {
    const { client, instance, mayWrite, onTransition } = this.#options;
    for (const transition of transitions) {
      onTransition(transition.reason);
      log[transition.type === 'Warning' ? 'warn' : 'info'](
        { reason: transition.reason, detail: transition.message },
        'transition',
      );
      const key = `${gatewaySync.namespace}/${gatewaySync.name}`;
      if (!mayWrite() || !this.#events.take(key, performance.now())) continue;
      recordEvent(client, gatewaySync, { transition, instance }).catch((error: unknown) => {
        log.warn({ err: error, reason: transition.reason }, 'event not recorded');
      });
    }
  }
}

function subscriptionOf({ namespace, spec }: ObservedGatewaySync, query: Subscription['query']): Subscription {
  const { enabled, interval } = spec.polling;
  return {
    source: { namespace, git: spec.git },
    query,
    intervalMs: enabled ? (parseDuration(interval) ?? DEFAULT_INTERVAL_MS) : undefined,
  };
}
