import type { GatewaySyncStatus, RequestOutcome } from '../../shared/api/gateway-sync-status.ts';
import { ROLLOUT_ANNOTATIONS } from '../../shared/api/names.ts';
import type { OwnerReference } from '../../shared/api/object-meta.ts';
import { GIVEN_UP } from '../../shared/domain/releases.ts';
import { otherRepository } from '../intent/intents.ts';
import type { Author, ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../watch/observed-pod.ts';
import { conditionOf } from './merge-conditions.ts';

/** A change that people want to hear of: an event and a log line. */
export interface Transition {
  type: 'Normal' | 'Warning';
  /** CamelCase, stable. */
  reason: string;
  message: string;
  /** The event is about this pod of the resource, so that its owner sees it, and not about the resource itself. */
  pod?: { name: string; uid: string };
  /** The repository that it is about: one event for each is enough. */
  repository?: string;
}

/** Compares two states of a resource; a poll that finds nothing new gives nothing. */
export function transitionsOf(before: GatewaySyncStatus, after: GatewaySyncStatus): Transition[] {
  return [
    commitTransition(before, after),
    rolloutTransition(before, after),
    ...requestTransitions(before, after),
    ...problemTransitions(before, after),
    ...readinessTransitions(before, after),
  ].filter((transition) => transition !== undefined);
}

/** Pods that are in the list for the first time: who creates them sees no warning of admission, which the workload gets. */
export function podTransitions(
  before: GatewaySyncStatus,
  after: GatewaySyncStatus,
  pods: readonly ObservedPod[],
): Transition[] {
  const namesOf = ({ discoveredGateways = [] }: GatewaySyncStatus) =>
    new Set(discoveredGateways.map(({ podName }) => podName));
  const [known, listed] = [namesOf(before), namesOf(after)];
  return pods
    .filter(({ name, live, userUnset }) => live && userUnset && listed.has(name) && !known.has(name))
    .slice(0, MAX_PODS)
    .map(({ name, uid }) => ({ type: 'Warning', reason: 'RunAsUserNotSet', message: userNotSet, pod: { name, uid } }));
}

/** Pods that are named at once: the others of a workload are like them. */
const MAX_PODS = 10;

const userNotSet =
  'the container that mounts the data has no securityContext.runAsUser, so the sync agent runs as the user of its own image and may not be able to write: set it in the pod template, so that both own the same files';

/** An event of a pod that was evicted because it had no sidecar. */
export function evictionOf({ name, uid }: ObservedPod, owner: OwnerReference): Transition {
  const message = `evicted: it was created without the sync agent, and ${owner.kind} ${owner.name} creates a new one`;
  return { type: 'Warning', reason: 'EvictedWithoutSidecar', message, pod: { name, uid } };
}

function commitTransition(before: GatewaySyncStatus, after: GatewaySyncStatus): Transition | undefined {
  if (after.lastSyncCommit === undefined || before.lastSyncCommit === after.lastSyncCommit) return undefined;
  const from = before.lastSyncCommitShort ? `, was ${before.lastSyncCommitShort}` : '';
  return {
    type: 'Normal',
    reason: 'RefResolved',
    message: `${after.lastSyncRef} is ${after.lastSyncCommitShort}${from}`,
  };
}

/** One for each rollout, wave and phase; what a rollout is made of when `spec.rollout` is added is no news. */
function rolloutTransition(
  { rollout: was }: GatewaySyncStatus,
  { rollout: is }: GatewaySyncStatus,
): Transition | undefined {
  const what = (rollout: typeof is) =>
    rollout && JSON.stringify([rollout.number, rollout.phase, rollout.wave, rollout.nextCommit]);
  if (!was || !is || what(was) === what(is)) return undefined;
  const isBad = GIVEN_UP.includes(is.phase);
  return { type: isBad ? 'Warning' : 'Normal', reason: `Rollout${is.phase}`, message: is.message ?? is.summary };
}

const ORDERS = {
  approve: { reason: 'RolloutApproved', what: (value: string) => `commit ${value} was approved` },
  rollback: { reason: 'RollbackOrdered', what: (value: string) => `${ROLLOUT_ANNOTATIONS.rollback}: ${value} was set` },
  retry: { reason: 'RetryOrdered', what: (value: string) => `${ROLLOUT_ANNOTATIONS.retry}: ${value} was set` },
} as const;

/** One for each order of people that is noted for the first time, with who gave it. */
export function orderTransitions(
  { rollout: was }: GatewaySyncStatus,
  { rollout: is }: GatewaySyncStatus,
  authors: NonNullable<ObservedGatewaySync['orderedBy']>,
): Transition[] {
  if (!was) return [];
  return (['approve', 'rollback', 'retry'] as const).flatMap((order) => {
    const value = is?.handled?.[order];
    if (value === undefined || value === was.handled?.[order]) return [];
    const { reason, what } = ORDERS[order];
    const isIgnored =
      order !== 'approve' && is?.handled?.ignored?.includes(order === 'retry' ? 'retry-rollout' : order);
    const message = `${what(value)}${authorWords(authors[order])}${isIgnored ? ', and has no effect' : ''}`;
    return [{ type: isIgnored ? ('Warning' as const) : ('Normal' as const), reason, message }];
  });
}

function authorWords({ user, manager }: Author = {}): string {
  if (user !== undefined) return ` by ${user}`;
  return manager === undefined ? '' : ` (by the client ${manager})`;
}

const outcomes: Partial<Record<RequestOutcome, Transition['type']>> = {
  Applied: 'Normal',
  Ignored: 'Warning',
  Failed: 'Warning',
  Superseded: 'Normal',
};

function requestTransitions(before: GatewaySyncStatus, after: GatewaySyncStatus): Transition[] {
  const kinds = [
    { name: 'Request', was: before.lastRequest, is: after.lastRequest },
    { name: 'Push', was: before.lastPush, is: after.lastPush },
  ];
  return kinds.flatMap(({ name, was, is }) => {
    const type = is && outcomes[is.outcome];
    if (!is || !type || (was && JSON.stringify(was) === JSON.stringify(is))) return [];
    if (is.repo !== undefined && is.message === otherRepository(is.repo))
      return [{ type, reason: 'OtherRepository', message: `${is.ref}: ${is.message}`, repository: is.repo }];
    return [{ type, reason: `${name}${is.outcome}`, message: `${is.ref}${is.message ? `: ${is.message}` : ''}` }];
  });
}

/** Conditions with their own event, since Ready may be about something worse. */
const TOLD_APART = ['SidecarInjected', 'AgentAccess', 'SSHHostKeyVerification'] as const;
const TOLD = [...TOLD_APART, 'CommitStatus'] as const;

function problemTransitions(before: GatewaySyncStatus, after: GatewaySyncStatus): Transition[] {
  return TOLD.flatMap((type) => {
    const [was, is] = [conditionOf(before.conditions, type), conditionOf(after.conditions, type)];
    if (is?.status !== 'False' || (was?.status === 'False' && was.reason === is.reason)) return [];
    return [{ type: 'Warning' as const, reason: is.reason, message: is.message }];
  });
}

function readinessTransitions(before: GatewaySyncStatus, after: GatewaySyncStatus): (Transition | undefined)[] {
  const [was, is] = [conditionOf(before.conditions, 'Ready'), conditionOf(after.conditions, 'Ready')];
  if (!is) return [];
  if (was?.status === is.status && was.reason === is.reason) return [];
  if (TOLD_APART.some((type) => is.reason === conditionOf(after.conditions, type)?.reason)) return [];
  // The phase has its own event.
  if (is.reason === `Rollout${after.rollout?.phase}`) return [];
  if (is.status === 'False') return [{ type: 'Warning', reason: is.reason, message: is.message }];
  if (is.status === 'True' && is.reason === 'Synced')
    return [{ type: 'Normal', reason: 'Synced', message: is.message }];
  return [];
}

/**
 * Seconds from a request and from a push until now, for each of the two that this status is the first to call applied.
 * Nothing for one whose time cannot be read, and 0 for one that is ahead of our clock.
 */
export function appliedDelays(before: GatewaySyncStatus, after: GatewaySyncStatus, now: number): number[] {
  const kinds = [
    { was: before.lastRequest, is: after.lastRequest },
    { was: before.lastPush, is: after.lastPush },
  ];
  return kinds.flatMap(({ was, is }) => {
    const isNews = is?.outcome === 'Applied' && JSON.stringify(is) !== JSON.stringify(was);
    const at = isNews ? Date.parse(is.at ?? '') : Number.NaN;
    return Number.isNaN(at) ? [] : [Math.max(0, now - at) / 1000];
  });
}
