import { randomUUID } from 'node:crypto';
import { agentRoleBindingName } from '../../shared/api/names.ts';
import type { OwnerReference } from '../../shared/api/object-meta.ts';
import { parseDuration } from '../../shared/domain/duration.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import type { Logger } from '../../shared/log.ts';
import { type Access, AgentBinder, wordsOf } from '../binding/agent-binder.ts';
import { NamedSecrets } from '../binding/named-secrets.ts';
import { RevisionKeeper } from '../binding/revision-keeper.ts';
import { bindingOf } from '../binding/role-binding.ts';
import type { StatusPoster } from '../commit-status/poster.ts';
import { eventOf, type Intents, isSettled, neededRefs, readIntents } from '../intent/intents.ts';
import type { GitTokenKeeper } from '../polling/git-token-keeper.ts';
import type { Repositories } from '../polling/repositories.ts';
import type { Subscription } from '../polling/shared-repository.ts';
import type { Caches } from '../watch/caches.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../watch/observed-pod.ts';
import { type Decision, decide } from './decide.ts';
import { LastingFailures } from './lasting-failures.ts';
import { Looks } from './looks.ts';
import type { Observation } from './observation.ts';
import { Pace } from './pace.ts';
import type { Outcome } from './queue.ts';
import { EventLimiter, recordEvent } from './record-event.ts';
import { StatusThrottle } from './status-throttle.ts';
import { StatusWriter } from './status-writer.ts';
import { ToldRepositories } from './told-repositories.ts';
import { appliedDelays, evictionOf, type Transition } from './transitions.ts';

export interface ReconcilerOptions {
  client: KubernetesClient;
  caches: Caches;
  repositories: Repositories;
  podsOf: (gatewaySync: ObservedGatewaySync) => Pick<Observation, 'pods' | 'missing' | 'unasked' | 'refused'>;
  /** Whether this process may write. */
  mayWrite: () => boolean;
  bindAgents: boolean;
  /** Whether a policy checks which user an annotation names. */
  areAuthorsChecked: boolean;
  /** Whether pods get the sidecar only in namespaces with the label. */
  isLabelRequired: boolean;
  /** Undefined where GitHub Apps are not enabled. */
  gitTokens: GitTokenKeeper | undefined;
  commitStatuses: StatusPoster;
  /** Name of the cluster; empty where it is not known. */
  cluster: string;
  /** Told how many seconds after it was made a request or a push was applied: for metrics. */
  onApplied: (seconds: number) => void;
  /** Called for every transition: for metrics. */
  onTransition: (reason: string) => void;
  /** Called for a resource of which more is known, and which is to be looked at again. */
  onNews: (key: ObjectKey) => void;
  /** Called for a resource whose status somebody else changed. */
  onForeignStatus: (key: ObjectKey) => void;
  /** Name of this replica, for events. */
  instance: string;
  log: Logger;
}

const DEFAULT_INTERVAL_MS = 60_000;
const TOKEN_RETRY_MS = 60_000;

/** Brings one resource in line: observe, decide, apply, one status write. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #statuses: StatusWriter;
  readonly #pace = new Pace();
  readonly #throttle = new StatusThrottle();
  readonly #events = new EventLimiter();
  readonly #binder: AgentBinder;
  readonly #secrets: NamedSecrets;
  readonly #revisions: RevisionKeeper;
  readonly #looks = new Looks();
  readonly #lastingFailures = new LastingFailures();
  readonly #toldRepositories = new ToldRepositories();

  constructor(options: ReconcilerOptions) {
    const { client, mayWrite, caches } = options;
    this.#options = options;
    this.#binder = new AgentBinder(client);
    this.#secrets = new NamedSecrets({ client, onLook: options.onNews });
    this.#revisions = new RevisionKeeper(client);
    this.#statuses = new StatusWriter({
      ...{ client, mayWrite, onForeign: options.onForeignStatus },
      cached: (key) => caches.gatewaySync(key),
    });
  }

  /** Handles one key of the queue. What it throws is tried again with back-off. */
  async reconcile(key: ObjectKey): Promise<Outcome> {
    const turnInMs = this.#pace.waitFor(key);
    if (turnInMs > 0) return { requeueAfterMs: turnInMs, isPutOff: true };
    const observed = await this.#pace.run(key, () => this.#observe(key));
    if (!observed) {
      this.forget(key);
      return undefined;
    }
    const { gatewaySync, pods } = observed;
    const log = this.#options.log.child({
      namespace: gatewaySync.namespace,
      name: gatewaySync.name,
      reconcileId: randomUUID(),
    });
    const isStarting = pods.some((pod) => pod.live && observed.reportOf(pod)?.podUID !== pod.uid);
    const secrets = this.#secrets.look(key, gatewaySync, { isStarting, log });
    if (secrets.kind === 'looking') return { requeueAfterMs: secrets.waitMs, isPutOff: true };
    const revision = await this.#keepRevision(key, gatewaySync, log);
    const access = [
      revision,
      secrets.access,
      await this.#bindAgents(key, gatewaySync, { pods, log }),
      await this.#supplyToken(key, gatewaySync, log),
    ];
    const accessRetries = access.map(({ retryAfterMs }) => retryAfterMs);
    const accessProblems = access.flatMap(({ problem }) => problem ?? []);
    const { areAuthorsChecked, isLabelRequired } = this.#options;
    const isRevisionKept = revision.isKept;
    const facts = { ...observed, accessProblems, isRevisionKept, areAuthorsChecked, isLabelRequired };
    const decision = await this.#pace.run(key, () => decide(facts, Date.now()));
    const { status, holdForMs, retryAfterMs, lookAgainInMs, wakeInMs } = decision;
    if (observed.answer?.kind !== 'asking')
      this.#looks.plan(key, lookAgainInMs === undefined ? undefined : performance.now() + lookAgainInMs);
    if (holdForMs > 0) return { ...earliest(...accessRetries, holdForMs), isPutOff: true };
    const waitMs = this.#throttle.waitFor(key, gatewaySync.status, status, performance.now());
    if (waitMs > 0) return { requeueAfterMs: waitMs, isPutOff: true };
    await this.#statuses.write(key, status, gatewaySync);
    this.#announce(gatewaySync, decision, log);
    this.#options.commitStatuses.want(key, gatewaySync, decision.commitStatus, status.commitStatus);
    if (gatewaySync.status.rollout && this.#options.mayWrite()) await this.#revisions.drop(gatewaySync, status, log);
    return earliest(...accessRetries, retryAfterMs, lookAgainInMs, wakeInMs, observed.refused?.expiresInMs);
  }

  /** Tells people of a resource that goes on failing. */
  onFailure(key: ObjectKey, failures: number, error: unknown): void {
    const gatewaySync = this.#options.caches.gatewaySync(key);
    if (!gatewaySync) return;
    const transition = this.#lastingFailures.newsOf(key, { failures, error, now: performance.now() });
    if (transition) this.#record(gatewaySync, [transition], this.#options.log.child({ key }));
  }

  /** Records an event on a pod that was evicted because it had no sidecar. */
  onEvicted(key: ObjectKey, pod: ObservedPod, owner: OwnerReference): void {
    const gatewaySync = this.#options.caches.gatewaySync(key);
    if (gatewaySync) this.#record(gatewaySync, [evictionOf(pod, owner)], this.#options.log.child({ key }));
  }

  /** Takes in that the watch brought a resource. */
  observe(key: ObjectKey, gatewaySync: ObservedGatewaySync, previous: ObservedGatewaySync | undefined): void {
    this.#statuses.observe(key, gatewaySync, previous);
  }

  /** Lets the next query of its repository ask for what this resource needs, so that many cost one query. */
  announce(key: ObjectKey, gatewaySync: ObservedGatewaySync): void {
    if (gatewaySync.spec.paused || gatewaySync.deleting) return;
    this.#options.repositories.subscribe(key, this.#subscriptionOf(key, gatewaySync, readIntents(gatewaySync)));
  }

  /** Drops what is kept of a resource. */
  forget(key: ObjectKey): void {
    this.#options.repositories.forget(key);
    this.#statuses.forget(key);
    this.#pace.forget(key);
    this.#throttle.forget(key);
    this.#binder.forget(key);
    this.#secrets.forget(key);
    this.#revisions.forget(key);
    this.#looks.forget(key);
    this.#lastingFailures.forget(key);
    this.#toldRepositories.forget(key);
    this.#options.gitTokens?.forget(key);
    this.#options.commitStatuses.forget(key);
  }

  #observe(key: ObjectKey) {
    const gatewaySync = this.#statuses.latest(key);
    if (!gatewaySync || gatewaySync.deleting) return undefined;
    const intents = readIntents(gatewaySync);
    const { caches, repositories, podsOf, commitStatuses, cluster } = this.#options;
    const reportOf = (pod: ObservedPod) => caches.report(`${pod.namespace}/${pod.name}`);
    const commitStatus = commitStatuses.newsOf(key, gatewaySync);
    const observed = { gatewaySync, intents, reportOf, ...podsOf(gatewaySync), cluster, commitStatus };
    if (!gatewaySync.spec.paused)
      return { ...observed, answer: repositories.ask(key, this.#subscriptionOf(key, gatewaySync, intents)) };
    repositories.forget(key);
    return { ...observed, answer: undefined };
  }

  async #keepRevision(key: ObjectKey, gatewaySync: ObservedGatewaySync, log: Logger) {
    return this.#options.mayWrite() ? await this.#revisions.keep(key, gatewaySync, log) : { isKept: false };
  }

  async #bindAgents(
    key: ObjectKey,
    gatewaySync: ObservedGatewaySync,
    { pods, log }: { pods: ObservedPod[]; log: Logger },
  ): Promise<Access> {
    const { caches, bindAgents, mayWrite } = this.#options;
    if (!bindAgents || !mayWrite()) return {};
    const { namespace, name } = gatewaySync;
    const current = caches.roleBinding(`${namespace}/${agentRoleBindingName(name)}`);
    return await this.#binder.bind(key, gatewaySync, bindingOf(pods, current), log);
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

  #subscriptionOf(key: ObjectKey, gatewaySync: ObservedGatewaySync, intents: Intents): Subscription {
    const { namespace, spec } = gatewaySync;
    const { enabled, interval } = spec.polling;
    const event = eventOf(gatewaySync, intents);
    return {
      source: { namespace, git: spec.git },
      query: neededRefs(intents),
      intervalMs: enabled ? (parseDuration(interval) ?? DEFAULT_INTERVAL_MS) : undefined,
      event: event && `${event}${this.#looks.take(key, performance.now())}`,
      isUrgent: !isSettled(gatewaySync, intents),
    };
  }

  #announce(gatewaySync: ObservedGatewaySync, { status, transitions }: Decision, log: Logger): void {
    const { onApplied } = this.#options;
    for (const seconds of appliedDelays(gatewaySync.status, status, Date.now())) onApplied(seconds);
    this.#record(gatewaySync, transitions, log);
  }

  #record(gatewaySync: ObservedGatewaySync, transitions: Transition[], log: Logger): void {
    const { client, instance, mayWrite, onTransition } = this.#options;
    const key = `${gatewaySync.namespace}/${gatewaySync.name}`;
    let recorded: Promise<void> = Promise.resolve();
    for (const transition of transitions) {
      const { type, reason, message, pod, repository } = transition;
      if (repository !== undefined && !this.#toldRepositories.add(key, repository)) continue;
      onTransition(reason);
      log[type === 'Warning' ? 'warn' : 'info']({ reason, detail: message, pod: pod?.name }, 'transition');
      if (!mayWrite() || !this.#events.take(key, performance.now())) continue;
      // Nobody waits for them, but they come one after the other, as they happened.
      recorded = recorded
        .then(() => recordEvent(client, gatewaySync, { transition, instance }))
        .catch((error: unknown) => log.warn({ err: error, reason }, 'event not recorded'));
    }
  }
}

function earliest(...delays: (number | undefined)[]): Outcome {
  const known = delays.filter((delay) => delay !== undefined);
  return known.length > 0 ? { requeueAfterMs: Math.min(...known) } : undefined;
}
