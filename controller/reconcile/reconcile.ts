import { randomUUID } from 'node:crypto';
import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { agentRoleBindingName } from '../../shared/api/names.ts';
import { keyOf, splitKey } from '../../shared/domain/kubernetes/object-name.ts';
import { earliest, parseDuration } from '../../shared/domain/text/duration.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import type { Logger } from '../../shared/log.ts';
import { bindAgents, describeApiError, type SupplyResult } from '../agent-access/agent-binder.ts';
import { bindingOf } from '../agent-access/role-binding.ts';
import { eventOf, type Intents, isSettled, readIntents } from '../intent/intents.ts';
import { neededRefs } from '../intent/resolve-ref.ts';
import type { Subscription } from '../polling/repositories.ts';
import { isStableGone } from '../releases/find-release.ts';
import { stableGone } from '../releases/release-keeper.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../watch/observed-pod.ts';
import { decide } from './decide/decide.ts';
import { phaseTransition } from './events/announcement.ts';
import { appliedDelays, failureEvent, type Transition } from './events/status-transitions.ts';
import { isDecidedElsewhere } from './queue/affected.ts';
import { Pace } from './queue/pace.ts';
import type { Requeue } from './queue/queue.ts';
import { ResourceState } from './resource-state.ts';
import { type StatusWrite, writeStatus } from './status/write-status.ts';
import type { Parts } from './wire-parts.ts';

const DEFAULT_INTERVAL_MS = 60_000;
const TOKEN_RETRY_MS = 60_000;
/** Delay before the next attempt if this process can't write, because the renewal of its lease is late (ms). */
const LEADERSHIP_RETRY_MS = 1_000;
/** Minimum delay before the event of a phase is written again (ms); twice as long at most, so that many spread. */
const ANNOUNCE_AGAIN_MS = 120_000;
/** Decisions in one reconcile, if other clients, such as the receiver, keep changing the resource. */
const ATTEMPTS = 5;

/** Reconciles a resource: gathers inputs, gives agents access, decides, and writes the status once. */
export class Reconciler {
  readonly #parts: Parts;
  readonly #pace = new Pace();
  readonly #states = new Map<ObjectKey, ResourceState>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Throws errors of the API server; the queue retries with backoff. */
  async reconcile(key: ObjectKey): Promise<Requeue> {
    const { caches, mayWrite } = this.#parts;
    const state = this.#stateOf(key);
    const paceMs = this.#pace.waitMs(key);
    if (paceMs > 0) return deferred(paceMs);
    if (!mayWrite()) return deferred(LEADERSHIP_RETRY_MS);
    state.requeries.advance(performance.now());
    let gatewaySync = caches.gatewaySync(key);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      if (!gatewaySync || gatewaySync.deleting) {
        this.forget(key);
        return undefined;
      }
      const outcome = await this.#reconcileFrom(gatewaySync, state, attempt);
      if (outcome.kind === 'done') return outcome.requeue;
      gatewaySync = caches.project(key, outcome.live);
    }
    return { ...deferred(0), isUrgent: true };
  }

  /** Reconciles one version of a resource, from the cache or a later one. */
  async #reconcileFrom(gatewaySync: ObservedGatewaySync, state: ResourceState, attempt: number): Promise<Outcome> {
    const { namespace, name } = gatewaySync;
    const key = keyOf(gatewaySync);
    const { client, caches, installation, commitStatuses, missingGateways } = this.#parts;
    const cachedBefore = caches.gatewaySync(key);
    const inputs = await this.#pace.run(key, () => this.#gatherInputs(gatewaySync, key, state));
    // Otherwise, a new leader could report fleets as ready until its first sweep. The git server is queried in parallel.
    if (await missingGateways.searchFirst(key)) return done(deferred(0));
    const { pods, query } = inputs;
    const log = this.#parts.log.child({ namespace, name, reconcileId: randomUUID() });
    void this.#announcePhase(state, gatewaySync, log);
    const isStarting = pods.some((pod) => pod.live && !inputs.reportOf(pod));
    const secrets = state.secrets.check({ gatewaySync, isStarting, log });
    if (secrets.kind === 'checking') return done(deferred(secrets.waitMs));
    const access = [
      // A cache that is behind would take back results.
      isDecidedElsewhere(state.decided, gatewaySync.status) ? {} : await state.releases.noteResults(gatewaySync, log),
      secrets.access,
      await this.#bindAgents(gatewaySync, pods, log),
      await this.#supplyToken(key, gatewaySync, log),
    ];
    const isAnnounced = (announcementOf(state, gatewaySync.status) ?? 'stored') === 'stored';
    if (isStableGone(gatewaySync, state.releases.list())) access.push({ problem: stableGone(gatewaySync) });
    const decideNow = () => {
      const releases = state.releases.list();
      const accessProblems = access.flatMap(({ problem }) => problem ?? []);
      const observation = { ...inputs, ...installation, accessProblems, releases, isAnnounced };
      return this.#pace.run(key, () => decide(observation, Date.now()));
    };
    const first = await decideNow();
    const mustStore = first.toStore.length > 0 && first.holdForMs === 0;
    if (mustStore) {
      // If the resource keeps changing, no status is written after which they are deleted.
      await state.releases.drop(gatewaySync, log);
      access.push(await state.releases.store(gatewaySync, first.toStore, log));
    }
    const decision = mustStore ? await decideNow() : first;
    const { status, holdForMs, retryAfterMs, requeryInMs, againInMs } = decision;
    if (query?.kind !== 'querying')
      state.requeries.plan(requeryInMs === undefined ? undefined : performance.now() + requeryInMs);
    if (holdForMs > 0) return done(deferred(earliest(holdForMs, ...retriesOf(access))));
    const waitMs = state.throttle.waitMs(gatewaySync.status, status, performance.now());
    if (waitMs > 0) return done(deferred(earliest(waitMs, againInMs)));
    state.decided = status;
    access.push(await state.releases.noteRejected(status.rollout, log));
    const write = await writeStatus(client, gatewaySync, { status, attempt });
    if (write.kind === 'unchanged') {
      state.decided = gatewaySync.status;
      // An event that came during the decision was compared with the previous one. A cache that is only late isn't a reason.
      const cached = caches.gatewaySync(key);
      if (cached && cached !== cachedBefore && isDecidedElsewhere(status, cached.status)) this.#parts.repair(key);
    }
    if (write.kind === 'conflict') return write;
    if (write.kind === 'gone') return done(undefined);
    if (write.kind === 'written') {
      const stored = { ...gatewaySync, status };
      state.throttle.noteWritten(gatewaySync.status, status, performance.now());
      this.#record(state, gatewaySync, decision.transitions, log);
      for (const seconds of appliedDelays(gatewaySync.status, status, Date.now())) this.#parts.onApplied(seconds);
      void this.#announcePhase(state, stored, log);
      access.push(await state.releases.noteResults(stored, log));
      await state.releases.drop(stored, log);
    }
    commitStatuses.take(key, gatewaySync, decision.commitStatus);
    const resyncMs = this.#parts.resyncMs * (0.5 + Math.random() / 2);
    const announceAt = announcementOf(state, status);
    const announceMs = typeof announceAt === 'number' ? Math.max(0, announceAt - performance.now()) : undefined;
    const delays = [...retriesOf(access), retryAfterMs, requeryInMs, againInMs, announceMs];
    return done({ afterMs: earliest(resyncMs, ...delays) });
  }

  /** Records an event if a resource keeps failing. */
  onFailure(key: ObjectKey, failures: number, error: unknown): void {
    const gatewaySync = this.#parts.caches.gatewaySync(key);
    const log = this.#parts.log.child(splitKey(key));
    const event = failureEvent(failures, error);
    if (gatewaySync && event) this.#record(this.#stateOf(key), gatewaySync, [event], log);
  }

  /** Handles a version of a resource from the watch. */
  onWatchEvent(key: ObjectKey, gatewaySync: ObservedGatewaySync, previous: ObservedGatewaySync | undefined): void {
    const state = this.#stateOf(key);
    const { uid, status } = gatewaySync;
    if (previous?.uid !== uid) return;
    if (isDecidedElsewhere(state.decided, status)) this.#parts.repair(key);
    else if (state.decided) state.decided = status; // the cached one, to keep only one of them in memory
  }

  /** Adds the refs of this resource to the next query of the repository, so that many resources cost one query. */
  subscribe(key: ObjectKey, gatewaySync: ObservedGatewaySync): void {
    if (gatewaySync.spec.paused || gatewaySync.deleting) return;
    const subscription = subscriptionOf(gatewaySync, this.#readIntents(gatewaySync), this.#stateOf(key));
    this.#parts.repositories.subscribe(key, subscription);
  }

  /** Drops the state of a resource, including shared state. */
  forget(key: ObjectKey): void {
    this.#states.delete(key);
    this.#parts.repositories.unsubscribe(key);
    this.#parts.gitTokens?.forget(key);
    this.#parts.commitStatuses.forget(key);
  }

  #stateOf(key: ObjectKey): ResourceState {
    const state = this.#states.get(key) ?? new ResourceState(key, this.#parts);
    this.#states.set(key, state);
    return state;
  }

  #readIntents(gatewaySync: ObservedGatewaySync): Intents {
    return readIntents(gatewaySync, (key) => this.#parts.caches.gatewaySync(key));
  }

  /** Gathers the facts about a resource. */
  #gatherInputs(gatewaySync: ObservedGatewaySync, key: ObjectKey, state: ResourceState) {
    const { caches, pods, missingGateways, repositories, commitStatuses } = this.#parts;
    const intents = this.#readIntents(gatewaySync);
    const isPaused = gatewaySync.spec.paused === true;
    if (isPaused) repositories.unsubscribe(key);
    return {
      gatewaySync,
      intents,
      query: isPaused ? undefined : repositories.query(key, subscriptionOf(gatewaySync, intents, state)),
      pods: pods.ownedBy(key),
      missing: missingGateways.podsOf(key),
      unmade: missingGateways.unmadeOf(key),
      reportOf: (pod: ObservedPod) => caches.reportOf(pod),
      commitStatus: commitStatuses.stateOf(key, gatewaySync),
    };
  }

  async #bindAgents(gatewaySync: ObservedGatewaySync, pods: ObservedPod[], log: Logger): Promise<SupplyResult> {
    const { client, caches, bindsAgents } = this.#parts;
    if (!bindsAgents) return {};
    const { namespace, name } = gatewaySync;
    const current = caches.roleBinding(`${namespace}/${agentRoleBindingName(name)}`);
    return await bindAgents(client, gatewaySync, { binding: bindingOf(pods, current), log });
  }

  /** If GitHub returns no token, the query fails as well, and the status shows it. Only a failed write matters. */
  async #supplyToken(key: ObjectKey, gatewaySync: ObservedGatewaySync, log: Logger): Promise<SupplyResult> {
    try {
      return withoutUndefined({ retryAfterMs: await this.#parts.gitTokens?.supply(key, gatewaySync) });
    } catch (error) {
      log.warn({ err: error }, 'token for the agents not written');
      const message = `the Secret with the token for the agents cannot be written: ${describeApiError(error)}`;
      return { retryAfterMs: TOKEN_RETRY_MS, problem: { reason: 'GitTokenNotWritten', message } };
    }
  }

  /** Announces the phase of a stored rollout until its event is stored. It exists if the previous leader stored it. */
  async #announcePhase(state: ResourceState, gatewaySync: ObservedGatewaySync, log: Logger): Promise<void> {
    const phase = phaseTransition(gatewaySync.status, Date.now());
    if (!phase) return;
    const { announced } = state;
    const last = announced.get(phase.once);
    if (typeof last === 'string' || (last !== undefined && performance.now() < last)) return;
    if (state.note(phase.once)) this.#parts.events.count(phase, log);
    announced.set(phase.once, 'writing');
    const isDone = await this.#parts.events.write(gatewaySync, phase, { log });
    announced.set(phase.once, isDone ? 'stored' : performance.now() + ANNOUNCE_AGAIN_MS * (1 + Math.random()));
  }

  /** Records transitions, except for those whose subject had one recently. */
  #record(state: ResourceState, gatewaySync: ObservedGatewaySync, transitions: Transition[], log: Logger): void {
    const isNew = ({ once }: Transition) => once === undefined || state.note(once);
    this.#parts.events.record(gatewaySync, transitions.filter(isNew), log);
  }
}

function subscriptionOf(
  gatewaySync: ObservedGatewaySync,
  intents: Intents,
  { requeries }: Pick<ResourceState, 'requeries'>,
): Subscription {
  const { namespace, spec } = gatewaySync;
  const { enabled, interval } = spec.polling;
  const event = eventOf(gatewaySync, intents);
  return {
    source: { namespace, git: spec.git },
    ...neededRefs(intents),
    intervalMs: enabled ? (parseDuration(interval) ?? DEFAULT_INTERVAL_MS) : undefined,
    event: event && `${event}${requeries.number}`,
    isUrgent: !isSettled(gatewaySync, intents),
  };
}

/** Returns what has become of the event about the phase in a status; undefined if there is none. */
const announcementOf = ({ announced }: ResourceState, status: GatewaySyncStatus) => {
  const phase = phaseTransition(status, Date.now());
  return phase && (announced.get(phase.once) ?? 'writing');
};

/** `conflict` if the resource has changed, so that everything must be decided again. */
type Outcome = { kind: 'done'; requeue: Requeue } | Extract<StatusWrite, { kind: 'conflict' }>;

const done = (requeue: Requeue): Outcome => ({ kind: 'done', requeue });

const retriesOf = (access: readonly SupplyResult[]) => access.map(({ retryAfterMs }) => retryAfterMs);

const deferred = (afterMs: number) => ({ afterMs, isDeferred: true });
