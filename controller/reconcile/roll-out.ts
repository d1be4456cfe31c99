import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { isAdmitted } from '../rollout/admission.ts';
import type { RolloutState } from '../rollout/rollout-input.ts';
import { step } from '../rollout/step.ts';
import type { ObservedPod } from '../watch/observed-pod.ts';
import { restsOf, type WantedFiles } from './discover-gateways.ts';
import type { Observation } from './observation.ts';
import { gatewayOf, rolloutInput } from './observe-rollout.ts';

/** What becomes of a rollout, and what each gateway is to have by it. */
export interface RolledOut {
  fields: Partial<Pick<GatewaySyncStatus, 'rollout' | 'history' | 'lastRequest'>>;
  wantedOf: (pod: ObservedPod) => WantedFiles;
  /** Milliseconds until the clock alone may change something. */
  wakeInMs: number | undefined;
}

/** Takes a rollout on; `sync` says what is followed, and by which spec. Without `spec.rollout` all have the newest commit. */
export function rollOut(sync: GatewaySyncStatus, observation: Observation, { now, isResolved }: Moment): RolledOut {
  const { gatewaySync, isRevisionKept } = observation;
  const { spec, status: before, generation } = gatewaySync;
  if (!spec.rollout) {
    return { fields: {}, wantedOf: () => ({ commit: sync.lastSyncCommit }), wakeInMs: undefined };
  }
  const state = before.rollout && { rollout: before.rollout, history: before.history ?? [] };
  // Nothing moves by a spec that is not judged yet, or whose revision nobody could read.
  const mayMove = !spec.paused && isRevisionKept && sync.observedGeneration === generation;
  // New mappings never meet an old commit; what is under way goes on.
  const wanted = isResolved ? sync : { ...sync, lastSyncCommit: undefined };
  const next = mayMove && (state || isResolved) ? takeOn(state, { sync: wanted, observation, now }) : undefined;
  const kept = next ? withApproval(next, observation) : state;
  if (!kept) return { fields: {}, wantedOf: () => ({ commit: undefined }), wakeInMs: undefined };
  return {
    fields: { ...kept, ...requestOf(sync, kept) },
    wantedOf: (pod) => wantedBy(kept, observation, pod),
    wakeInMs: next?.wakeInMs,
  };
}

interface Moment {
  /** Milliseconds since the epoch. */
  now: number;
  /** Whether it is known which commit belongs to the spec. */
  isResolved: boolean;
}

interface Situation {
  sync: GatewaySyncStatus;
  observation: Observation;
  now: number;
}

function takeOn(state: RolloutState | undefined, { sync, observation, now }: Situation) {
  return step(state, rolloutInput({ sync, observation, now, restOf: restsOf(observation.gatewaySync) }));
}

/** Notes which commit was approved, so that it is told once. */
function withApproval({ rollout, history }: RolloutState, { gatewaySync: { orders } }: Observation): RolloutState {
  const { handled: { approve: _, ...others } = {}, ...rest } = rollout;
  const handled = { ...others, ...(orders?.approve !== undefined && { approve: orders.approve }) };
  return { rollout: { ...rest, ...(Object.keys(handled).length > 0 && { handled }) }, history };
}

function wantedBy({ rollout }: RolloutState, { gatewaySync }: Observation, pod: ObservedPod): WantedFiles {
  const gateway = gatewayOf(pod, gatewaySync.spec.rollout?.waves ?? []);
  const { commit, revision, stableCommit, stableRevision } = rollout;
  return isAdmitted(gateway, rollout.admission)
    ? { commit, revision }
    : { commit: stableCommit, revision: stableRevision };
}

/** Who asked for a commit is told that it failed. */
function requestOf(
  { lastRequest, target, lastSyncCommit }: GatewaySyncStatus,
  { rollout }: RolloutState,
): Pick<RolledOut['fields'], 'lastRequest'> {
  const isGivenUp = ['Stopped', 'RollingBack', 'RolledBack'].includes(rollout.phase);
  const isMeant = target?.source === 'Request' && rollout.commit === lastSyncCommit && lastRequest?.ref === target.ref;
  if (lastRequest?.outcome !== 'Applied' || !isGivenUp || !isMeant) return {};
  return { lastRequest: { ...lastRequest, outcome: 'Failed', message: rollout.message ?? rollout.summary } };
}
