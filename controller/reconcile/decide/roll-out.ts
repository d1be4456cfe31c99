import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import { answersRange } from '../../../shared/domain/git/answers-range.ts';
import { entryOf, GIVEN_UP, isInProgress } from '../../../shared/domain/rollout/releases.ts';
import { withoutUndefined } from '../../../shared/domain/text/objects.ts';
import { isReleasedIn } from '../../rollout/admission.ts';
import { step } from '../../rollout/machine.ts';
import type { RolloutState } from '../../rollout/moves.ts';
import type { RolloutGateway } from '../../rollout/rollout-input.ts';
import { givenUpMessage } from '../../rollout/texts.ts';
import type { ObservedPod } from '../../watch/observed-pod.ts';
import { pausesOf, type WantedFiles } from './discover-gateways.ts';
import type { RolloutObservation } from './observation.ts';
import { rolloutInput } from './observe-rollout.ts';

/** Result of a rollout, and the files that each gateway should have. */
export interface RolledOut {
  fields: Partial<Pick<GatewaySyncStatus, 'rollout' | 'history' | 'lastRequest'>>;
  wantedOf: (pod: ObservedPod) => WantedFiles;
  /** Time until the clock can have changed something (ms). */
  againInMs: number | undefined;
  /**
   * Whether the wanted release isn't part of a rollout yet: its `spec.sync` isn't stored as a revision, or its commit
   * is unknown.
   */
  isHeldBack: boolean;
}

/** Advances a rollout; `sync` has the followed ref. Without `spec.rollout`, all gateways get the newest commit. */
export function rollOut(sync: GatewaySyncStatus, observation: RolloutObservation, moment: Moment): RolledOut {
  const { now, isResolved, isAnswered } = moment;
  const { gatewaySync, isRevisionKept } = observation;
  const { spec, status: before, generation } = gatewaySync;
  if (!spec.rollout) {
    return { fields: {}, wantedOf: () => ({ commit: sync.lastSyncCommit }), againInMs: undefined, isHeldBack: false };
  }
  const state = before.rollout && { rollout: before.rollout, history: before.history ?? [] };
  // Nothing changes for a spec that hasn't been judged yet.
  const mayMove = !spec.paused && sync.observedGeneration === generation;
  // New mappings never meet an old commit, and a revision that isn't stored can't be read. A current rollout continues.
  const mayBegin = isResolved && isRevisionKept;
  const wanted = mayBegin ? sync : { ...sync, lastSyncCommit: undefined };
  const input = rolloutInput({ sync: wanted, observation, now, pauseOf: pausesOf(gatewaySync) });
  const next = mayMove && (state || mayBegin) ? step(state, input) : undefined;
  const kept = next ? withNextRevision(next, observation) : state;
  if (!kept) return { fields: {}, wantedOf: () => ({ commit: undefined }), againInMs: undefined, isHeldBack: true };
  return {
    fields: { ...kept, ...requestOf(sync, kept, gatewaySync) },
    wantedOf: wantedBy(kept, input.gateways),
    againInMs: next && periodOf(next.rollout),
    isHeldBack:
      !isAnswered ||
      kept.rollout.revision !== spec.revision ||
      (isResolved && !isRevisionKept && kept.rollout.commit !== sync.lastSyncCommit),
  };
}

/** Periods in which a rollout is judged again (ms), because time alone ends soaks, deadlines, and waits for windows. */
const PERIOD_MS = { moving: 10_000, waiting: 30_000 };

function periodOf(rollout: RolloutStatus): number | undefined {
  const { phase, nextCommit, waitsFor } = rollout;
  if (!isInProgress(rollout) && phase !== 'RollingBack' && nextCommit === undefined) return undefined;
  // While a newer commit waits, gateways of the one in progress can still fail.
  const isMoving = isInProgress(rollout) && nextCommit !== undefined;
  return isMoving || waitsFor === undefined || waitsFor === 'Gateways' ? PERIOD_MS.moving : PERIOD_MS.waiting;
}

interface Moment {
  /** Milliseconds since the epoch. */
  now: number;
  /** Whether the commit of the spec is known. */
  isResolved: boolean;
  /** Whether the git server has responded about the current ref and repository. */
  isAnswered: boolean;
}

/** Records a revision that was stored ahead, so that it is deleted later. */
function withNextRevision(
  { rollout, history }: RolloutState,
  { gatewaySync, isRevisionKept }: RolloutObservation,
): RolloutState {
  // The one that waits keeps its own.
  if (rollout.nextCommit !== undefined) return { history, rollout };
  const { revision } = gatewaySync.spec;
  const isAhead = isRevisionKept && revision !== rollout.revision && revision !== rollout.stableRevision;
  return { history, rollout: withoutUndefined({ ...rollout, nextRevision: isAhead ? revision : undefined }) };
}

/** A pod that isn't among the gateways has ended; its result doesn't matter. */
function wantedBy({ rollout }: RolloutState, gateways: readonly RolloutGateway[]): (pod: ObservedPod) => WantedFiles {
  const { commit, revision, stableCommit, stableRevision, admission } = rollout;
  const admitted = new Set(gateways.flatMap((gateway) => (isReleasedIn(gateway, admission) ? gateway.name : [])));
  return ({ name }) => (admitted.has(name) ? { commit, revision } : { commit: stableCommit, revision: stableRevision });
}

/**
 * Marks a request as failed if its commit was abandoned before all gateways had it. Later, its outcome is final, even
 * after a rollback.
 */
function requestOf(
  sync: GatewaySyncStatus,
  { rollout }: RolloutState,
  { spec, status: before }: RolloutObservation['gatewaySync'],
): Pick<RolledOut['fields'], 'lastRequest'> {
  const { lastRequest, target, lastSyncCommit: commit = '' } = sync;
  if (lastRequest?.outcome !== 'Applied' || !target) return {};
  const isRequested = target.source === 'Request' && lastRequest.ref === target.ref;
  const isMeant = target.range === undefined ? isRequested : answersRange(lastRequest.ref, target, commit);
  if (!isMeant) return {};
  const isGivenUp = rollout.commit === commit && GIVEN_UP.includes(rollout.phase);
  const wasGivenUp = rollout.givenUp?.includes(entryOf({ commit, revision: spec.revision ?? '' }));
  if (!isGivenUp && !(wasGivenUp && rollout.nextCommit === commit)) return {};
  const isNew = !isSameRequest(before.lastRequest, lastRequest);
  if (!isNew && (wasReached(commit, before) || !wasComing(commit, before.rollout))) return {};
  return { lastRequest: { ...lastRequest, outcome: 'Failed', message: givenUpMessage(commit, rollout, { isNew }) } };
}

type Request = NonNullable<GatewaySyncStatus['lastRequest']>;

/** Whether the status already shows that exactly this request was applied. */
const isSameRequest = (one: Request | undefined, { ref, at, by, id, outcome }: Request): boolean =>
  one?.ref === ref && one.at === at && one.by === by && one.id === id && one.outcome === outcome;

/** Whether all gateways have had a commit since it was requested. */
function wasReached(commit: string, { rollout, history = [], targetTime = '' }: GatewaySyncStatus): boolean {
  const isSince = (time: string) => !(Date.parse(time) < Date.parse(targetTime));
  return rollout?.stableCommit === commit || history.some((entry) => entry.commit === commit && isSince(entry.time));
}

/** Whether a commit was being rolled out, or was waiting for that. */
const wasComing = (commit: string, rollout: RolloutStatus | undefined): boolean =>
  rollout?.nextCommit === commit || (rollout?.commit === commit && !GIVEN_UP.includes(rollout.phase));
