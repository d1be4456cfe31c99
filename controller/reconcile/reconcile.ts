import { randomUUID } from 'node:crypto';
import { agentRoleBindingName } from '../../shared/api/names.ts';
import { parseDuration } from '../../shared/domain/duration.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import type { Logger } from '../../shared/log.ts';
import { type Access, AgentBinder, wordsOf } from '../binding/agent-binder.ts';
import { chooseIntent, eventOf, type Intent, isMentioned, isSettled } from '../intent/choose-intent.ts';
import { neededRefs } from '../intent/judge-intent.ts';
import type { GitTokenKeeper } from '../polling/git-token-keeper.ts';
import type { Repositories } from '../polling/repositories.ts';
import type { Asking } from '../polling/shared-question.ts';
import type { Subscription } from '../polling/shared-repository.ts';
import type { Caches } from '../watch/caches.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../watch/observed-pod.ts';
import { type Decision, decide, resolvingStatus } from './decide.ts';
import type { Outcome } from './queue.ts';
import { EventLimiter, recordEvent } from './record-event.ts';
import { StatusThrottle, StatusWriter } from './status-writer.ts';
import { appliedDelays } from './transitions.ts';

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
  /** Told how many seconds after it was made a request or a push was applied: for metrics. */
  onApplied: (seconds: number) => void;
  /** Told of every transition: for metrics. */
  onTransition: (reason: string) => void;
  /** Told of a resource whose status somebody else changed. */
  onForeignStatus: (key: ObjectKey) => void;
  /** Name of this replica, for events. */
  instance: string;
  log: Logger;
}

/**
 * How long a query may take before the status says that it is under way, in milliseconds: a new resource has no
 * earlier state that could be taken for the new one.
 */
const RESOLVING_AFTER_MS = { new: 5_000, known: 1_000 };
const DEFAULT_INTERVAL_MS = 60_000;
const TOKEN_RETRY_MS = 60_000;

/** Brings one resource in line: observe, decide, apply, one status write. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #statuses: StatusWriter;
  readonly #throttle = new StatusThrottle();
  readonly #events = new EventLimiter();
  readonly #binder: AgentBinder;

  constructor(options: ReconcilerOptions) {
    const { client, mayWrite, caches } = options;
    this.#options = options;
    this.#binder = new AgentBinder(client);
    this.#statuses = new StatusWriter({
      ...{ client, mayWrite, onForeign: options.onForeignStatus },
      cached: (key) => caches.gatewaySync(key),
    });
  }

  /** Handles one key of the queue. What it throws is tried again with back-off. */
  async reconcile(key: ObjectKey): Promise<Outcome> {
    const gatewaySync = this.#statuses.latest(key);
    if (!gatewaySync || gatewaySync.deleting) {
      this.forget(key);
      return undefined;
    }
    const log = this.#options.log.child({
      namespace: gatewaySync.namespace,
      name: gatewaySync.name,
      reconcileId: randomUUID(),
    });
    const { answer, ...observed } = this.#observe(key, gatewaySync);
    const access = [
      await this.#bindAgents(key, gatewaySync, { pods: observed.pods, log }),
      await this.#supplyToken(key, gatewaySync, log),
    ];
    const lookAgainInMs = access.map(({ retryAfterMs }) => retryAfterMs);
    if (answer?.kind === 'asking') return earliest(...lookAgainInMs, await this.#showAsking(key, answer));
    const accessProblems = access.flatMap(({ problem }) => problem ?? []);
    const decision = decide({ ...observed, answer, accessProblems }, Date.now());
    const waitMs = this.#throttle.waitFor(key, gatewaySync.status, decision.status, performance.now());
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    await this.#statuses.write(key, decision.status);
    this.#announce(gatewaySync, decision, log);
    return earliest(...lookAgainInMs, decision.retryAfterMs);
  }

  /** Takes in that the watch brought a resource. */
  observe(key: ObjectKey, gatewaySync: ObservedGatewaySync, previous: ObservedGatewaySync | undefined): void {
    this.#statuses.observe(key, gatewaySync, previous);
  }

  /** Lets the next query of its repository ask for what this resource needs, so that many cost one query. */
  announce(key: ObjectKey, gatewaySync: ObservedGatewaySync): void {
    if (gatewaySync.spec.paused || gatewaySync.deleting) return;
    this.#options.repositories.subscribe(key, subscriptionOf(gatewaySync, chooseIntent(gatewaySync)));
  }

  /** Drops what is kept of a resource. */
  forget(key: ObjectKey): void {
    this.#options.repositories.forget(key);
    this.#statuses.forget(key);
    this.#throttle.forget(key);
    this.#binder.forget(key);
    this.#options.gitTokens?.forget(key);
  }

  #observe(key: ObjectKey, gatewaySync: ObservedGatewaySync) {
    const intent = chooseIntent(gatewaySync);
    const { caches, repositories, podsOf } = this.#options;
    const reportOf = (pod: ObservedPod) => caches.report(`${pod.namespace}/${pod.name}`);
    const observed = { gatewaySync, intent, reportOf, ...podsOf(gatewaySync) };
    if (!gatewaySync.spec.paused)
      return { ...observed, answer: repositories.ask(key, subscriptionOf(gatewaySync, intent)) };
    repositories.forget(key);
    return { ...observed, answer: undefined };
  }

  async #bindAgents(
    key: ObjectKey,
    gatewaySync: ObservedGatewaySync,
    { pods, log }: { pods: ObservedPod[]; log: Logger },
  ): Promise<Access> {
    const { caches, bindAgents, mayWrite } = this.#options;
    if (!bindAgents || !mayWrite()) return {};
    const { namespace, name } = gatewaySync;
    const serviceAccounts = [...new Set(pods.map(({ serviceAccountName }) => serviceAccountName))].sort();
    const current = caches.roleBinding(`${namespace}/${agentRoleBindingName(name)}`);
    return await this.#binder.bind(key, gatewaySync, { serviceAccounts, current }, log);
  }

  /** Where GitHub gives no token, the query fails as well and the status says so; a Secret is the agents' alone. */
  async #supplyToken(key: ObjectKey, gatewaySync: ObservedGatewaySync, log: Logger): Promise<Access> {
    const { gitTokens, mayWrite } = this.#options;
    if (!gitTokens || !mayWrite()) return {};
    try {
      const dueInMs = await gitTokens.supply(key, gatewaySync);
      return dueInMs === undefined ? {} : { retryAfterMs: dueInMs };
    } catch (error) {
      log.warn({ err: error }, 'no token handed over to the agents');
      const message = `the Secret with the token for the agents cannot be written: ${wordsOf(error)}`;
      return { retryAfterMs: TOKEN_RETRY_MS, problem: { reason: 'GitTokenNotWritten', message } };
    }
  }

  /**
   * A quick answer makes one write; a slow one shows that something is under way, where that is news. Gives the
   * milliseconds until that is due: the answer itself comes by the queue.
   */
  async #showAsking(key: ObjectKey, { forMs }: Asking): Promise<number | undefined> {
    const current = this.#statuses.latest(key);
    if (!current || isMentioned(current, chooseIntent(current))) return undefined;
    const patience = RESOLVING_AFTER_MS[current.status.observedGeneration === undefined ? 'new' : 'known'];
    if (forMs < patience) return patience - forMs;
    await this.#statuses.write(key, resolvingStatus(current, Date.now()));
    return undefined;
  }

  #announce(gatewaySync: ObservedGatewaySync, { status, transitions }: Decision, log: Logger): void {
    const { client, instance, mayWrite, onApplied, onTransition } = this.#options;
    for (const seconds of appliedDelays(gatewaySync.status, status, Date.now())) onApplied(seconds);
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

function subscriptionOf(gatewaySync: ObservedGatewaySync, intent: Intent): Subscription {
  const { namespace, spec } = gatewaySync;
  const { enabled, interval } = spec.polling;
  return {
    source: { namespace, git: spec.git },
    query: neededRefs(gatewaySync, intent),
    intervalMs: enabled ? (parseDuration(interval) ?? DEFAULT_INTERVAL_MS) : undefined,
    event: eventOf(gatewaySync, intent),
    isUrgent: !isSettled(gatewaySync, intent),
  };
}

function earliest(...delays: (number | undefined)[]): Outcome {
  const known = delays.filter((delay) => delay !== undefined);
  return known.length > 0 ? { requeueAfterMs: Math.min(...known) } : undefined;
}
