import type {
  Condition,
  ConditionType,
  GatewayCounts,
  GatewaySyncStatus,
} from '../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { GIVEN_UP } from '../../shared/domain/rollout/releases.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { CommitStatus } from './requests.ts';

/**
 * Summarizes the state of a resource as one status of its followed commit. Undefined if the last post remains, because
 * the status is about another spec, or the resource is paused.
 */
export function wantedStatus(
  { spec, generation }: Pick<ObservedGatewaySync, 'spec' | 'generation'>,
  status: GatewaySyncStatus,
): CommitStatus | undefined {
  const { lastSyncCommit, gateways, rollout } = status;
  const isAbout = status.observedGeneration === generation && status.observedRepo === spec.git.repo;
  if (lastSyncCommit === undefined || !gateways || !isAbout || spec.paused) return undefined;
  const facts: Facts = { commit: lastSyncCommit, gateways, conditions: status.conditions ?? [] };
  const profiles = conditionOf(facts, 'ProfilesValid');
  if (profiles?.status === 'False') return withRef(failure(lastSyncCommit, profiles.message), status);
  const wanted = spec.rollout && rollout ? ofRollout(rollout, facts) : ofGateways(facts);
  return wanted && withRef(wanted, status);
}

function withRef(wanted: CommitStatus, status: GatewaySyncStatus): CommitStatus {
  const { rollout, lastSyncCommit, lastSyncRef } = status;
  const { commit } = wanted;
  const followed = commit === lastSyncCommit ? lastSyncRef : undefined;
  const ref = commit === rollout?.commit ? rollout.ref : followed;
  return withoutUndefined({ ...wanted, ref });
}

interface Facts {
  commit: string;
  gateways: GatewayCounts;
  conditions: Condition[];
}

/** Returns the status during a rollout; after it, the gateways decide. */
function ofRollout(rollout: RolloutStatus, facts: Facts): CommitStatus | undefined {
  const { phase, commit, nextCommit, givenUp = [], message, summary } = rollout;
  const verdict = verdictOf(rollout);
  if (verdict) return verdict;
  if (nextCommit !== undefined) {
    // An abandoned commit has its status already.
    const isGivenUp = givenUp.some((release) => release.startsWith(`${nextCommit} `));
    return isGivenUp ? undefined : pending(nextCommit, message ?? summary);
  }
  return phase === 'Complete'
    ? ofGateways({ ...facts, commit })
    : pending(commit, `${countsOf(facts.gateways)}; ${summary}`);
}

/** An abandoned commit has failed, even if some gateways can't be rolled back. */
function verdictOf(rollout: RolloutStatus): CommitStatus | undefined {
  const { phase, commit, stableCommit, nextCommit, failures = [], verified, total, message, summary } = rollout;
  const { previewFailure } = rollout;
  if (!GIVEN_UP.includes(phase)) return undefined;
  // While another commit waits, the message is about that one.
  const known = phase === 'RollingBack' || nextCommit !== undefined ? undefined : (message ?? summary);
  const failed = failures.length > 0 ? [`failed on ${failures.slice(0, 3).join(', ')}`] : [];
  const where = previewFailure === undefined ? failed : [`can't be delivered: ${previewFailure}`];
  const now =
    phase === 'Stopped'
      ? 'stopped'
      : `rolled back to ${stableCommit.slice(0, 8)}, ${verified}/${total} gateways are back`;
  return failure(commit, known ?? [...where, now].join('; '));
}

function ofGateways(facts: Facts): CommitStatus {
  const { commit, gateways } = facts;
  const counts = countsOf(gateways);
  const all = conditionOf(facts, 'AllGatewaysSynced');
  if (all?.status === 'True') return { commit, state: 'success', description: counts };
  if (all?.reason === 'GatewaysFailed')
    return failure(commit, `${counts}; ${all.message.replace(`${gateways.summary}; `, '')}`);
  if (all?.reason === 'MissingSidecar')
    return failure(commit, `${counts}; ${conditionOf(facts, 'SidecarInjected')?.message ?? ''}`);
  return pending(commit, gateways.total === 0 ? 'no gateway yet' : counts);
}

/** Counts gateways. Paused ones aren't waited for, and are listed separately. */
function countsOf({ synced, total, paused, dryRun }: GatewayCounts): string {
  const others = [paused > 0 && `${paused} paused`, dryRun > 0 && `${dryRun} in a dry run`].filter(Boolean);
  return [`${synced}/${total} gateways`, ...others].join(', ');
}

const pending = (commit: string, description: string): CommitStatus => ({ commit, state: 'pending', description });
const failure = (commit: string, description: string): CommitStatus => ({ commit, state: 'failure', description });
const conditionOf = ({ conditions }: Facts, wanted: ConditionType) => conditions.find(({ type }) => type === wanted);
