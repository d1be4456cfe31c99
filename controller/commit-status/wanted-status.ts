import type {
  CommitStatusRecord,
  Condition,
  ConditionType,
  GatewayCounts,
  GatewaySyncStatus,
} from '../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { withoutUndefined } from '../../shared/domain/objects.ts';
import { GIVEN_UP } from '../../shared/domain/releases.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';

/** What the git host is to say of a commit. */
export interface WantedStatus {
  commit: string;
  state: CommitStatusRecord['state'];
  /** For people; may hold anything that an agent says. */
  description: string;
  /** The ref that led to the commit, where the status names one. */
  ref?: string | undefined;
  /** Where it may be about the commit before: for so long it must be so, in milliseconds, and what is said meanwhile. */
  settling?: { ms: number; meanwhile: string };
  /** It stays so, whatever gateways do: nothing has to last before it is said. */
  isDecided?: true;
  /** What comes first, where something else was said of that commit: it failed or was taken back, and another one waits. */
  former?: WantedStatus | undefined;
}

/** A report does not name the commit that an agent failed with, and an agent soon says something of the next one. */
const SETTLE_MS = { failedGateway: 10_000, missingSidecar: 60_000 };

/**
 * The state of a resource as one status of the commit that it follows. Undefined where there is nothing to say, so that
 * what was said last stays: while the status is about another spec, or the resource is paused.
 */
export function wantedStatus(
  { spec, generation }: Pick<ObservedGatewaySync, 'spec' | 'generation'>,
  status: GatewaySyncStatus,
): WantedStatus | undefined {
  const { lastSyncCommit, gateways, rollout } = status;
  const isAbout = status.observedGeneration === generation && status.observedRepo === spec.git.repo;
  if (lastSyncCommit === undefined || !gateways || !isAbout || spec.paused) return undefined;
  const facts: Facts = { commit: lastSyncCommit, gateways, conditions: status.conditions ?? [] };
  const profiles = conditionOf(facts, 'ProfilesValid');
  if (profiles?.status === 'False') return withRef(failure(lastSyncCommit, profiles.message), status);
  const wanted = spec.rollout && rollout ? ofRollout(rollout, facts) : ofGateways(facts);
  return wanted && withRef(wanted, status);
}

function withRef(wanted: WantedStatus, status: GatewaySyncStatus): WantedStatus {
  const { rollout, lastSyncCommit, lastSyncRef } = status;
  const { commit, former } = wanted;
  const followed = commit === lastSyncCommit ? lastSyncRef : undefined;
  const ref = commit === rollout?.commit ? rollout.ref : followed;
  return withoutUndefined({ ...wanted, ref, former: former && withRef(former, status) });
}

interface Facts {
  commit: string;
  gateways: GatewayCounts;
  conditions: Condition[];
}

/** What the waves make of it; when they are through, the gateways themselves tell. */
function ofRollout(rollout: RolloutStatus, facts: Facts): WantedStatus | undefined {
  const { phase, commit, nextCommit, givenUp = [], message, summary } = rollout;
  const verdict = verdictOf(rollout);
  if (nextCommit !== undefined) {
    // A commit that was given up has its status already.
    const isGivenUp = givenUp.some((release) => release.startsWith(`${nextCommit} `));
    return isGivenUp ? verdict : { ...pending(nextCommit, message ?? summary), former: verdict };
  }
  if (verdict) return verdict;
  return phase === 'Complete'
    ? ofGateways({ ...facts, commit })
    : pending(commit, `${countsOf(facts.gateways)}; ${summary}`);
}

/** A commit that was given up has failed, whether or not all gateways can go back. */
function verdictOf(rollout: RolloutStatus): WantedStatus | undefined {
  const { phase, commit, stableCommit, nextCommit, failures = [], verified, total, message, summary } = rollout;
  if (!GIVEN_UP.includes(phase)) return undefined;
  // While another commit waits, the message is about that one.
  const known = phase === 'RollingBack' || nextCommit !== undefined ? undefined : (message ?? summary);
  const where = failures.length > 0 ? [`failed on ${failures.slice(0, 3).join(', ')}`] : [];
  const now =
    phase === 'Stopped'
      ? 'stopped'
      : `rolled back to ${stableCommit.slice(0, 8)}, ${verified}/${total} gateways are back`;
  return { ...failure(commit, known ?? [...where, now].join('; ')), isDecided: true };
}

function ofGateways(facts: Facts): WantedStatus {
  const { commit, gateways } = facts;
  const counts = countsOf(gateways);
  const all = conditionOf(facts, 'AllGatewaysSynced');
  const settling = (ms: number, words: string) => ({
    ...failure(commit, `${counts}; ${words}`),
    settling: { ms, meanwhile: counts },
  });
  if (all?.status === 'True') return { commit, state: 'success', description: counts };
  if (all?.reason === 'GatewaysFailed')
    return settling(SETTLE_MS.failedGateway, all.message.replace(`${gateways.summary}; `, ''));
  if (all?.reason === 'MissingSidecar')
    return settling(SETTLE_MS.missingSidecar, conditionOf(facts, 'SidecarInjected')?.message ?? '');
  return pending(commit, gateways.total === 0 ? 'no gateway yet' : counts);
}

/** Gateways that are not to be changed are not waited for, and so they are named. */
function countsOf({ synced, total, paused, dryRun }: GatewayCounts): string {
  const others = [paused > 0 && `${paused} paused`, dryRun > 0 && `${dryRun} in a dry run`].filter(Boolean);
  return [`${synced}/${total} gateways`, ...others].join(', ');
}

const pending = (commit: string, description: string): WantedStatus => ({ commit, state: 'pending', description });
const failure = (commit: string, description: string): WantedStatus => ({ commit, state: 'failure', description });
const conditionOf = ({ conditions }: Facts, wanted: ConditionType) => conditions.find(({ type }) => type === wanted);
