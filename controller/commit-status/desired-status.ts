import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { conditionOf } from '../../shared/domain/kubernetes/condition-of.ts';
import { GIVEN_UP, isEntryOf } from '../../shared/domain/rollout/releases.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { CommitStatus } from './servers.ts';

/**
 * Summarizes the state of a resource as one status of its followed commit. Undefined if the last post remains, because
 * the status is about another spec, or the resource is paused.
 */
export function desiredStatus(
  { spec, generation }: Pick<ObservedGatewaySync, 'spec' | 'generation'>,
  status: GatewaySyncStatus,
): CommitStatus | undefined {
  const { lastSyncCommit, lastSyncRef, gateways, rollout } = status;
  const isAbout = status.observedGeneration === generation && status.observedRepo === spec.git.repo;
  if (lastSyncCommit === undefined || !gateways || !isAbout || spec.paused) return undefined;
  const desired = summarize(lastSyncCommit, status, spec.rollout ? rollout : undefined);
  if (!desired) return undefined;
  const followedRef = desired.commit === lastSyncCommit ? lastSyncRef : undefined;
  return withoutUndefined({ ...desired, ref: desired.commit === rollout?.commit ? rollout.ref : followedRef });
}

function summarize(followed: string, status: GatewaySyncStatus, rollout: RolloutStatus | undefined) {
  const profiles = conditionOf(status.conditions, 'ProfilesValid');
  if (profiles?.status === 'False') return failure(followed, profiles.message);
  return rollout ? ofRollout(rollout, status) : ofGateways(followed, status);
}

/** Returns the status during a rollout; after it, the gateways decide. */
function ofRollout(rollout: RolloutStatus, status: GatewaySyncStatus): CommitStatus | undefined {
  const { phase, commit, nextCommit, givenUp = [], message, summary } = rollout;
  // An abandoned commit has failed, even if some gateways can't be rolled back.
  if (GIVEN_UP.includes(phase)) return failure(commit, whyGivenUp(rollout));
  const isComplete = phase === 'Complete';
  const own = isComplete ? ofGateways(commit, status) : pending(commit, `${countsOf(status)}; ${summary}`);
  // The result of this commit comes first. Otherwise, it would never be posted.
  const isPosted = status.commitStatus?.commit !== commit || status.commitStatus.state !== 'pending';
  if (nextCommit === undefined || (!isPosted && (!isComplete || own.state !== 'pending'))) return own;
  // An abandoned commit has its status already.
  const isGivenUp = givenUp.some((entry) => isEntryOf(entry, nextCommit));
  return isGivenUp ? undefined : pending(nextCommit, message ?? summary);
}

function whyGivenUp(rollout: RolloutStatus): string {
  const {
    phase,
    stableCommit = '',
    nextCommit,
    failures = [],
    previewFailure,
    verified,
    total,
    message,
    summary,
  } = rollout;
  // While another commit waits, the message is about that one.
  if (phase !== 'RollingBack' && nextCommit === undefined) return message ?? summary;
  const failed = failures.length > 0 ? [`failed on ${failures.slice(0, 3).join(', ')}`] : [];
  const where = previewFailure === undefined ? failed : [`can't be delivered: ${previewFailure}`];
  const now =
    phase === 'Stopped'
      ? 'stopped'
      : `rolled back to ${stableCommit.slice(0, 8)}, ${verified}/${total} gateways are back`;
  return [...where, now].join('; ');
}

function ofGateways(commit: string, status: GatewaySyncStatus): CommitStatus {
  const { summary, total } = status.gateways ?? {};
  const counts = countsOf(status);
  const all = conditionOf(status.conditions, 'AllGatewaysSynced');
  if (all?.status === 'True') return { commit, state: 'success', description: counts };
  if (all?.reason === 'GatewaysFailed') return failure(commit, `${counts}; ${all.message.replace(`${summary}; `, '')}`);
  if (all?.reason === 'MissingSidecar')
    return failure(commit, `${counts}; ${conditionOf(status.conditions, 'SidecarInjected')?.message ?? ''}`);
  return pending(commit, total === 0 ? 'no gateway yet' : counts);
}

/** Counts gateways. Paused ones aren't waited for, and are listed separately. */
function countsOf({ gateways }: GatewaySyncStatus): string {
  const { synced = 0, total = 0, paused = 0, dryRun = 0 } = gateways ?? {};
  const others = [paused > 0 && `${paused} paused`, dryRun > 0 && `${dryRun} in a dry run`].filter(Boolean);
  return [`${synced}/${total} gateways`, ...others].join(', ');
}

const pending = (commit: string, description: string): CommitStatus => ({ commit, state: 'pending', description });
const failure = (commit: string, description: string): CommitStatus => ({ commit, state: 'failure', description });
