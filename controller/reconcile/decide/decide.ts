import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import { isObservedRef, specRef } from '../../../shared/domain/git/spec-ref.ts';
import { conditionOf } from '../../../shared/domain/kubernetes/condition-of.ts';
import { isObserved } from '../../../shared/domain/kubernetes/is-observed.ts';
import type { Release } from '../../../shared/domain/rollout/releases.ts';
import { clockWords } from '../../../shared/domain/text/clock-skew.ts';
import { wholeSeconds } from '../../../shared/domain/text/duration.ts';
import { withoutUndefined } from '../../../shared/domain/text/objects.ts';
import { desiredStatus } from '../../commit-status/desired-status.ts';
import { destinationOf, type FoundDestination } from '../../commit-status/destination.ts';
import type { PostState, StatusPost } from '../../commit-status/next-post.ts';
import type { Intents } from '../../intent/intents.ts';
import type { Followed, Resolution } from '../../intent/resolution.ts';
import { resolve } from '../../intent/resolve.ts';
import { windowProblems } from '../../rollout/windows.ts';
import type { ObservedGatewaySync } from '../../watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../../watch/observed-pod.ts';
import type { ObservedReport } from '../../watch/observed-report.ts';
import { withAnnounced } from '../events/announcement.ts';
import { orderTransitions, podTransitions, type Transition, transitionsOf } from '../events/status-transitions.ts';
import { judgeConditions } from './conditions.ts';
import { discoverGateways, listed } from './discover-gateways.ts';
import { mergeConditions } from './merge-conditions.ts';
import type { Observation } from './observation.ts';
import { type RolledOut, rollOut } from './roll-out.ts';

/** The decision about a resource. */
export interface Decision {
  status: GatewaySyncStatus;
  /** Changes that get an event and a log line. */
  transitions: Transition[];
  /** Time to wait for a response before the status is written without it (ms); 0 to write it now. */
  holdForMs: number;
  /** Delay before the git server is queried again (ms), if a poll wouldn't help. */
  retryAfterMs: number | undefined;
  /** Delay before the git server is queried again for a ref that it doesn't show yet (ms). */
  requeryInMs: number | undefined;
  /** Time after which the clock can have advanced a rollout (ms). */
  againInMs: number | undefined;
  /** Releases that must be stored before they can be rolled out. */
  toStore: Release[];
  /** The commit status to post; undefined if there is none, or no new one. */
  commitStatus: StatusPost | undefined;
}

/**
 * Time that a query can take before the status shows it (ms), so that a quick response results in one write. A new
 * resource has no earlier state that could be mistaken for the new one.
 */
const PATIENCE_MS = { new: 5_000, known: 1_000 };

/** Decides from an observation; pure, so that tests can cover every case. */
export function decide(observation: Observation, now: number): Decision {
  const { gatewaySync, intents, query } = observation;
  const resolution = resolve(gatewaySync, intents, { query, now });
  const sync = syncFieldsOf(observation, resolution, now);
  const rolledOut = rollOut(sync, observation, {
    now,
    isResolved: isResolved(gatewaySync, resolution),
    isAnswered: isAnswered(sync, gatewaySync, resolution),
  });
  const found = destinationOf(gatewaySync, observation.cluster);
  const decided = statusOf(observation, { resolution, sync, rolledOut, found }, now);
  const { isAnnounced = false } = observation;
  const status = withAnnounced(gatewaySync.status, decided, { now, isAnnounced });
  const desired = found?.kind === 'destination' ? desiredStatus(gatewaySync, status) : undefined;
  const waits = status.lastRequest?.outcome === 'Pending' || status.lastPush?.outcome === 'Pending';
  const unresolved = conditionOf(status.conditions, 'RefResolved')?.status === 'False';
  const retryAfterMs = 'retryAfterMs' in resolution ? resolution.retryAfterMs : undefined;
  const isDue = waits || unresolved || !gatewaySync.spec.polling.enabled;
  return {
    status,
    transitions: [
      ...orderTransitions(gatewaySync.status, status, gatewaySync.orderedBy ?? {}),
      ...transitionsOf(gatewaySync.status, status),
      ...podTransitions(gatewaySync.status, status, observation.pods),
    ],
    holdForMs: holdFor(gatewaySync, resolution),
    retryAfterMs: resolution.kind === 'querying' || isDue ? retryAfterMs : undefined,
    requeryInMs: 'requeryInMs' in resolution ? resolution.requeryInMs : undefined,
    againInMs: rolledOut.againInMs,
    toStore: rolledOut.toStore,
    commitStatus:
      found?.kind === 'destination' && desired ? { destination: found.destination, status: desired } : undefined,
  };
}

/** Whether the followed commit belongs to the current spec, in the status or in the latest response. */
function isResolved({ status, generation }: ObservedGatewaySync, resolution: Resolution): boolean {
  if (resolution.kind === 'resolved' || (resolution.kind === 'failed' && resolution.known)) return true;
  return status.observedGeneration === generation && conditionOf(status.conditions, 'RefResolved')?.status === 'True';
}

/** Whether the git server has responded about the current spec.git, and has its ref. */
function isAnswered(sync: GatewaySyncStatus, gatewaySync: ObservedGatewaySync, resolution: Resolution): boolean {
  const { git } = gatewaySync.spec;
  const isSeen = isObservedRef(sync, git) && sync.observedRepo === git.repo;
  return isSeen && (resolution.kind !== 'failed' || isResolved(gatewaySync, resolution));
}

function holdFor({ status }: ObservedGatewaySync, resolution: Resolution): number {
  if (resolution.kind !== 'querying' || resolution.isMentioned) return 0;
  const patience = PATIENCE_MS[isObserved(status) ? 'known' : 'new'];
  return Math.max(0, patience - resolution.forMs);
}

interface Decided {
  resolution: Resolution;
  /** The fields about the followed ref. */
  sync: GatewaySyncStatus;
  rolledOut: RolledOut;
  /** Destination of the commit status, if one is configured. */
  found: FoundDestination | undefined;
}

function statusOf(observation: Observation, decided: Decided, now: number): GatewaySyncStatus {
  const { resolution, sync, rolledOut, found } = decided;
  const { gatewaySync, pods, reportOf } = observation;
  const { status: before, spec, generation } = gatewaySync;
  const { wantedOf, fields, isHeldBack } = rolledOut;
  const { gateways, counts } = discoverGateways({ ...observation, wantedOf });
  const failed = gateways.filter(({ syncStatus }) => syncStatus === 'Error');
  const others = gateways.filter(({ syncStatus }) => syncStatus !== 'Error');
  const verdicts = judgeConditions({
    ...observation,
    resolution,
    hub: observation.intents.hub,
    counts,
    rollout: fields.rollout,
    isHeldBack,
    commitStatusProblem: problemOf(observation, found),
    rolloutProblems: windowProblems(spec.rollout?.windows),
    gatewayErrors: firstThree(failed.map(({ podName, message }) => `${podName}: ${message ?? 'failed'}`)),
    wrongClocks: firstThree(
      others.flatMap(({ podName, clockSkew }) =>
        clockSkew === undefined ? [] : `${podName}: ${clockWords(clockSkew * 1000)}`,
      ),
    ),
    podsThatWait: firstThree(pods.flatMap((pod) => whyPending(pod, reportOf(pod), generation) ?? []).sort()),
  });
  return withoutUndefined({
    ...sync,
    rollout: undefined,
    ...fields,
    pendingRef: sync.target ? undefined : specRef(spec.git),
    profileCount: Object.keys(spec.sync.profiles).length,
    discoveredGateways: listed(gateways),
    gateways: counts,
    // Kept even if no further status can be posted.
    commitStatus: found && (observation.commitStatus?.posted ?? before.commitStatus),
    conditions: mergeConditions(before.conditions, verdicts, { now, generation }),
  });
}

const firstThree = (texts: string[]): string[] => texts.slice(0, 3);

/** Describes what a gateway waits for, with the messages of its agent about this spec and of the kubelet. */
function whyPending(pod: ObservedPod, report: ObservedReport | undefined, generation: number): string | undefined {
  const status = report?.status;
  const isPending = status?.state === 'Pending' && (status.generation ?? generation) === generation;
  const causes = [isPending && status.message, pod.waiting].filter(Boolean);
  return pod.live && causes.length > 0 ? `${pod.name}: ${causes.join('; ')}` : undefined;
}

/** Why the commit status can't be posted; unknown right after a start. */
function problemOf({ commitStatus: state }: Observation, found: FoundDestination | undefined): PostState['problem'] {
  if (found?.kind !== 'destination') return found;
  return state ? state.problem : 'unknown';
}

/** Updates the fields about the followed ref; the target changes only together with its commit. */
function syncFieldsOf(observation: Observation, resolution: Resolution, now: number): GatewaySyncStatus {
  const { intents } = observation;
  const { status: before, generation } = observation.gatewaySync;
  const unresolved = before.refResolutionStatus ?? 'NotResolved';
  // Until the git server has responded about a new spec, the status is about the previous one, and agents wait.
  if (resolution.kind === 'querying') {
    const refResolutionStatus = resolution.isMentioned ? unresolved : 'Resolving';
    return { ...before, ...resolution.echo, refResolutionStatus };
  }
  const fields = {
    ...before,
    ...withdrawn(before, intents),
    ...resolution.echo,
    observedGeneration: generation,
    observedRefTime: timestampOf(intents.edit.at),
  };
  if (resolution.kind === 'paused') return { ...fields, refResolutionStatus: unresolved };
  if (resolution.kind === 'failed') {
    const seen = resolution.isJudged ? withSeen(fields, observation) : fields;
    return { ...(resolution.known ? withFollowed(seen, resolution.known, now) : seen), refResolutionStatus: 'Error' };
  }
  const refResolutionStatus = resolution.requeryInMs === undefined ? 'Resolved' : 'Resolving';
  return { ...withFollowed(withSeen(fields, observation), resolution.followed, now), refResolutionStatus };
}

/** Ends a pending request that no longer exists. */
function withdrawn({ lastRequest }: GatewaySyncStatus, { request }: Intents): Pick<GatewaySyncStatus, 'lastRequest'> {
  if (request || lastRequest?.outcome !== 'Pending') return {};
  const message = 'its annotations no longer exist, or spec.webhook.from no longer leads to it';
  return { lastRequest: { ...lastRequest, outcome: 'Ignored', message } };
}

/** Records the current spec.git, so that the next edit is noticed. */
function withSeen(fields: GatewaySyncStatus, { gatewaySync: { spec } }: Observation): GatewaySyncStatus {
  const { ref, semver, tagPrefix, repo } = spec.git;
  return {
    ...fields,
    observedRef: ref,
    observedSemver: semver,
    observedTagPrefix: tagPrefix,
    observedRepo: repo,
  };
}

/** Undefined for an edit without a known time. */
const timestampOf = (time: number): string | undefined =>
  Number.isFinite(time) ? new Date(time).toISOString() : undefined;

function withFollowed(before: GatewaySyncStatus, { winner, resolved }: Followed, now: number): GatewaySyncStatus {
  const { target, at } = winner;
  const moved = before.lastSyncCommit !== resolved.commit;
  return {
    ...before,
    target,
    targetTime: target.source === 'Spec' ? undefined : timestampOf(at),
    lastSyncRef: target.ref,
    lastSyncCommit: resolved.commit,
    lastSyncCommitShort: resolved.commit.slice(0, 8),
    lastSyncTime: moved || !before.lastSyncTime ? wholeSeconds(now) : before.lastSyncTime,
  };
}
