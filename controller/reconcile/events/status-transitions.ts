import type { ConditionType, GatewaySyncStatus, RequestOutcome } from '../../../shared/api/gateway-sync-status.ts';
import { ROLLOUT_ANNOTATIONS } from '../../../shared/api/names.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import { conditionOf } from '../../../shared/domain/kubernetes/condition-of.ts';
import { messageOf } from '../../../shared/domain/text/message-of.ts';
import { otherRepository } from '../../intent/intents.ts';
import type { Author, ObservedGatewaySync } from '../../watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../../watch/observed-pod.ts';
import { isEqual } from '../status/merge-patch.ts';

/** A change that is worth an event and a log line. */
export interface Transition {
  type: 'Normal' | 'Warning';
  /** CamelCase, stable. */
  reason: string;
  message: string;
  /** The event is about this pod instead of the resource, so that the pod's owner sees it. */
  pod?: { name: string; uid: string };
  /** Subject, if one event about it in an hour is enough. */
  once?: string;
  /** When it happened (ms since the epoch), if it can be announced again by the next leader: as the same event. */
  since?: number;
}

/** Compares two states of a resource; a poll without changes returns nothing. */
export function transitionsOf(before: GatewaySyncStatus, after: GatewaySyncStatus): Transition[] {
  return [
    commitTransition(before, after),
    tagTransition(before, after),
    waitTransition(before, after),
    ...approvalTransitions(before, after),
    ...requestTransitions(before, after),
    ...problemTransitions(before, after),
    readinessTransition(before, after),
  ].filter((transition) => transition !== undefined);
}

/** Returns warnings about newly listed pods. */
export function podTransitions(
  before: GatewaySyncStatus,
  after: GatewaySyncStatus,
  pods: readonly ObservedPod[],
): Transition[] {
  const namesOf = ({ discoveredGateways = [] }: GatewaySyncStatus) =>
    new Set(discoveredGateways.map(({ podName }) => podName));
  const known = namesOf(before);
  const listed = namesOf(after);
  return pods
    .filter(({ name, live, userUnset }) => live && userUnset && listed.has(name) && !known.has(name))
    .slice(0, MAX_PODS)
    .map(({ name, uid }) => ({
      type: 'Warning',
      reason: 'RunAsUserNotSet',
      message: userNotSet,
      pod: { name, uid },
      once: uid, // the status doesn't list all pods of a large fleet, and not always the same ones
    }));
}

/** Maximum number of pods per write; other pods of the workload are alike. */
const MAX_PODS = 10;

const userNotSet =
  'the container that mounts the data has no securityContext.runAsUser, so the sync agent runs as the user of its image and may be unable to write; set runAsUser in the pod template so that both own the same files';

function commitTransition(before: GatewaySyncStatus, after: GatewaySyncStatus): Transition | undefined {
  if (after.lastSyncCommit === undefined || before.lastSyncCommit === after.lastSyncCommit) return undefined;
  const { target, observedRepo } = after;
  const isSameRepo = before.observedRepo === observedRepo;
  const isSameTag = before.target?.range === target?.range && before.target?.ref === target?.ref;
  if (target?.range !== undefined && isSameRepo && isSameTag)
    return {
      type: 'Warning',
      reason: 'TagMoved',
      message: `the tag ${target.ref} was moved from ${before.lastSyncCommit} to ${after.lastSyncCommit}`,
    };
  const from = before.lastSyncCommitShort ? `, was ${before.lastSyncCommitShort}` : '';
  return {
    type: 'Normal',
    reason: 'RefResolved',
    message: `${after.lastSyncRef} is ${after.lastSyncCommitShort}${from}`,
  };
}

/** Returns a warning if the followed tag was deleted, because the gateways stay on a commit that no tag names. */
function tagTransition(before: GatewaySyncStatus, after: GatewaySyncStatus): Transition | undefined {
  const { reason, message } = changedCondition('RefResolved', before, after) ?? {};
  return reason === 'TagDeleted' ? { type: 'Warning', reason, message: message ?? '' } : undefined;
}

/** Returns an event for each newer commit that waits and what it waits for, unless the phase is announced. */
function waitTransition(before: GatewaySyncStatus, after: GatewaySyncStatus): Transition | undefined {
  if (!before.rollout || !after.rollout || !isEqual(stepOf(before.rollout), stepOf(after.rollout))) return undefined;
  const { nextCommit, waitsFor, message, summary } = after.rollout;
  const waitsForOther = waitsFor !== undefined && waitsFor !== before.rollout.waitsFor;
  if (nextCommit === undefined || (nextCommit === before.rollout.nextCommit && !waitsForOther)) return undefined;
  return { type: 'Normal', reason: 'RolloutWaiting', message: message ?? summary };
}

/** A rollout's number, phase, and wave; a change of one of them is announced. */
export const stepOf = ({ number, phase, wave }: RolloutStatus) => ({ number, phase, wave });

const ORDERS = {
  rollback: { reason: 'RollbackOrdered', what: (value: string) => `${ROLLOUT_ANNOTATIONS.rollback}: ${value} was set` },
  retry: { reason: 'RetryOrdered', what: (value: string) => `${ROLLOUT_ANNOTATIONS.retry}: ${value} was set` },
} as const;

/** Returns an event with the author for each new order. */
export function orderTransitions(
  before: GatewaySyncStatus,
  after: GatewaySyncStatus,
  authors: NonNullable<ObservedGatewaySync['orderedBy']>,
): Transition[] {
  if (!before.rollout) return [];
  const previous = before.rollout.handled ?? {};
  const handled = after.rollout?.handled ?? {};
  return (['rollback', 'retry'] as const).flatMap((order) => {
    const value = handled[order];
    if (value === undefined || value === previous[order]) return [];
    const { reason, what } = ORDERS[order];
    const isIgnored = handled.ignored?.includes(order === 'retry' ? 'retry-rollout' : order);
    const message = `${what(value)}${authorText(authors[order])}${isIgnored ? ', but has no effect' : ''}`;
    return [{ type: isIgnored ? ('Warning' as const) : ('Normal' as const), reason, message }];
  });
}

/** Returns an event for each approval that applies from now on. */
function approvalTransitions(
  { rollout: before }: GatewaySyncStatus,
  { rollout: after }: GatewaySyncStatus,
): Transition[] {
  const isNew = (approval: object) => !before?.approvals?.some((each) => isEqual(each, approval));
  return (after?.approvals ?? []).filter(isNew).map(({ release, wave, by }) => ({
    type: 'Normal',
    reason: 'RolloutApproved',
    message: `release ${release} was approved${wave === undefined ? '' : ` for the wave ${wave}`} by ${by}`,
  }));
}

function authorText({ user, manager }: Author = {}): string {
  if (user !== undefined) return ` by ${user}`;
  return manager === undefined ? '' : ` (by the client ${manager})`;
}

const outcomes: Partial<Record<RequestOutcome, Transition['type']>> = {
  Applied: 'Normal',
  Ignored: 'Warning',
  Failed: 'Warning',
  Superseded: 'Normal',
};

/** The request and the push of a status, if it is the first to show this state of them. */
function changedRequests(before: GatewaySyncStatus, after: GatewaySyncStatus) {
  return [
    { name: 'Request', previous: before.lastRequest, current: after.lastRequest },
    { name: 'Push', previous: before.lastPush, current: after.lastPush },
  ].flatMap(({ name, previous, current }) => (current && !isEqual(previous, current) ? [{ name, current }] : []));
}

function requestTransitions(before: GatewaySyncStatus, after: GatewaySyncStatus): Transition[] {
  return changedRequests(before, after).flatMap(({ name, current }) => {
    const type = outcomes[current.outcome];
    if (!type) return [];
    const { ref, repo, outcome, reason, message } = current;
    const text = message ? `${ref}: ${message}` : ref;
    if (repo !== undefined && message?.startsWith(otherRepository(repo)))
      return [{ type, reason: 'OtherRepository', message: text, once: repo }];
    // Any push makes the controller look for a newer tag in the range, so a push to a branch needs no attention.
    const isUsual = reason === 'OtherPrefix' || (name === 'Push' && reason === 'NotATag');
    return [{ type: isUsual ? 'Normal' : type, reason: `${name}${outcome}`, message: text }];
  });
}

/** Conditions with separate events, because Ready may be about a worse problem. */
const SEPARATE_CONDITIONS = ['SidecarInjected', 'AgentAccess', 'SSHHostKeyVerification'] as const;
const REPORTED_CONDITIONS = [...SEPARATE_CONDITIONS, 'CommitStatus', 'WebhookSource'] as const;

function problemTransitions(before: GatewaySyncStatus, after: GatewaySyncStatus): Transition[] {
  return REPORTED_CONDITIONS.flatMap((type) => {
    const condition = changedCondition(type, before, after);
    if (condition?.status !== 'False') return [];
    return [{ type: 'Warning' as const, reason: condition.reason, message: condition.message }];
  });
}

function readinessTransition(before: GatewaySyncStatus, after: GatewaySyncStatus): Transition | undefined {
  const current = changedCondition('Ready', before, after);
  if (!current) return undefined;
  const { status, reason, message } = current;
  if (SEPARATE_CONDITIONS.some((type) => reason === conditionOf(after.conditions, type)?.reason)) return undefined;
  // The phase has a separate event.
  if (reason === `Rollout${after.rollout?.phase}` || reason === 'PreviewFailed') return undefined;
  if (status === 'False') return { type: 'Warning', reason, message };
  return status === 'True' && reason === 'Synced' ? { type: 'Normal', reason, message } : undefined;
}

/** Returns a condition if its status or its reason has changed. */
function changedCondition(type: ConditionType, before: GatewaySyncStatus, after: GatewaySyncStatus) {
  const previous = conditionOf(before.conditions, type);
  const current = conditionOf(after.conditions, type);
  return previous?.status === current?.status && previous?.reason === current?.reason ? undefined : current;
}

/**
 * Returns the seconds from a request and from a push until now, for each that this status is the first to show as
 * applied. Excludes times that can't be read, and returns 0 for one ahead of our clock.
 */
export function appliedDelays(before: GatewaySyncStatus, after: GatewaySyncStatus, now: number): number[] {
  return changedRequests(before, after)
    .filter(({ current }) => current.outcome === 'Applied')
    .map(({ current }) => Date.parse(current.at ?? ''))
    .filter((at) => !Number.isNaN(at))
    .map((at) => Math.max(0, now - at) / 1000);
}

/** Consecutive failures before an event is recorded. */
const MIN_FAILURES = 5;

/**
 * Returns the event about several consecutive failures of reconciles. The status can't show them, because writing it may
 * be what fails.
 */
export function failureEvent(failures: number, error: unknown): Transition | undefined {
  if (failures < MIN_FAILURES) return undefined;
  const message = `${failures} consecutive reconciles failed; retrying with backoff: ${messageOf(error)}; see the log of the controller`;
  return { type: 'Warning', reason: 'ReconcileFailed', message, once: 'ReconcileFailed' };
}
