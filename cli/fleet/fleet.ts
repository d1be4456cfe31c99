import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { GatewayCounts } from '../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { isSameRange, specRef } from '../../shared/domain/git/spec-ref.ts';
import { conditionOf } from '../../shared/domain/kubernetes/condition-of.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { allGateways } from './all-gateways.ts';
import { type Basis, basisOf, isWhole } from './basis.ts';
import { type Beyond, labelsIn, reportsOf } from './beyond.ts';
import { type GatewayView, gatewayView } from './gateway.ts';
import { isBackwards, isStoppedEarly, type PlacedGateway, placeInWaves, type WaveView, waveViews } from './waves.ts';

/** View of a GatewaySync. `--output json` prints it. */
export interface ResourceView {
  namespace: string;
  name: string;
  state: ResourceState;
  /** Reason of the condition Ready. */
  reason: string;
  /** Summary in one sentence. */
  says: string;
  repo: string;
  /** The followed ref, and its source. */
  ref?: string;
  /** The range of versions for which the tag was chosen, with spec.git.semver. */
  range?: string;
  source?: 'Spec' | 'Request' | 'Push';
  /** The new value of spec.git.ref or spec.git.semver if it isn't followed yet, and the reason of RefResolved. */
  unfollowed?: { ref: string; reason?: string };
  /** The newest commit, even if no gateway has it. */
  commit?: string;
  /** The commit of all gateways after a rollback. */
  backOn?: string;
  /** The commit that all gateways keep, because its preview stopped the newest one. */
  keeps?: string;
  resolvedAt?: string;
  counts: Counts;
  /** Source of the gateways and of the numbers of each wave. The counts always include all gateways. */
  basis: Basis;
  rollout?: RolloutView;
  gateways: GatewayView[];
  lastRequest?: NonNullable<GatewaySync['status']>['lastRequest'];
  lastPush?: NonNullable<GatewaySync['status']>['lastPush'];
}

/** State of a GatewaySync. `rolledBack` isn't ready, but intended: a user chose a different commit. */
export type ResourceState = 'ready' | 'busy' | 'failed' | 'paused' | 'rolledBack';

type Counts = Omit<GatewayCounts, 'summary'>;

/** Progress of a rollout. */
export type RolloutView = Pick<
  RolloutStatus,
  'number' | 'phase' | 'summary' | 'release' | 'commit' | 'stableCommit' | 'nextCommit' | 'message' | 'startedAt'
> & { waves: WaveView[] };

/** Several GatewaySyncs with totals of only these. */
export interface FleetView {
  items: ResourceView[];
  totals: { resources: number; ready: number; gateways: number; synced: number };
}

/** Creates the view. */
export function fleetView(gatewaySyncs: readonly GatewaySync[], beyond: Beyond): FleetView {
  const items = gatewaySyncs.map((gatewaySync) => resourceView(gatewaySync, beyond));
  return { items, totals: totalsOf(items) };
}

/** Returns the totals of these GatewaySyncs. */
export function totalsOf(items: readonly Pick<ResourceView, 'state' | 'counts'>[]): FleetView['totals'] {
  const sum = (key: 'total' | 'synced') => items.reduce((total, { counts }) => total + counts[key], 0);
  const ready = items.filter(({ state }) => state === 'ready').length;
  return { resources: items.length, ready, gateways: sum('total'), synced: sum('synced') };
}

const NOTHING: Counts = {
  total: 0,
  synced: 0,
  pending: 0,
  error: 0,
  missingSidecar: 0,
  paused: 0,
  dryRun: 0,
  skewed: 0,
};

/** Creates the view. */
export function resourceView(gatewaySync: GatewaySync, beyond: Beyond): ResourceView {
  const { metadata, spec, status = {} } = gatewaySync;
  const { namespace, name } = metadata;
  const reportOf = reportsOf(namespace, beyond);
  const all = allGateways(gatewaySync, beyond, reportOf);
  const { summary: _, ...counts } = status.gateways ?? { summary: '', ...NOTHING };
  const basis = basisOf(beyond, { shown: all.length, total: counts.total });
  const placed = placeInWaves(gatewaySync, all, {
    reportOf: beyond.reports && reportOf,
    labelsOf: labelsIn(namespace, beyond),
  });
  const placeOf = new Map(placed?.map((each) => [each.podName, each]));
  const { target, lastSyncCommit, lastSyncTime, lastRequest, lastPush, rollout } = status;
  return withoutUndefined({
    namespace,
    name,
    ...verdictOf(gatewaySync),
    repo: spec.git.repo,
    ref: target?.ref ?? specRef(spec.git),
    range: target?.range,
    source: target?.source,
    ...unfollowedBy(gatewaySync),
    commit: lastSyncCommit,
    backOn: rollout && isBackwards(rollout) ? rollout.stableCommit : undefined,
    keeps: rollout && isStoppedEarly(rollout) ? rollout.stableCommit : undefined,
    resolvedAt: lastSyncTime,
    counts,
    basis,
    // With only some of the gateways, the counts of waves would be wrong.
    rollout: rollout && rolloutView(rollout, isWhole(basis) ? placed : undefined),
    gateways: all.map((gateway) =>
      gatewayView(gateway, { gatewaySync, report: reportOf(gateway), placed: placeOf.get(gateway.podName) }),
    ),
    lastRequest,
    lastPush,
  });
}

/** Returns a new ref or range that isn't followed yet: the target changes only together with the commit. */
function unfollowedBy({ spec, status = {} }: GatewaySync): Pick<ResourceView, 'unfollowed'> {
  const { target, conditions } = status;
  const ref = specRef(spec.git);
  if (target?.source !== 'Spec') return {};
  if (target.range === undefined ? target.ref === ref : isSameRange(target, spec.git)) return {};
  const resolved = conditionOf(conditions, 'RefResolved');
  return { unfollowed: { ref, ...(resolved?.status === 'False' && { reason: resolved.reason }) } };
}

function rolloutView(rollout: RolloutStatus, placed: PlacedGateway[] | undefined): RolloutView {
  const { number, phase, summary, release, commit, stableCommit, nextCommit, message, startedAt } = rollout;
  return withoutUndefined({
    number,
    phase,
    summary,
    release,
    commit,
    stableCommit,
    startedAt,
    nextCommit,
    message,
    waves: waveViews(rollout, placed),
  });
}

function verdictOf(gatewaySync: GatewaySync): Pick<ResourceView, 'state' | 'reason' | 'says'> {
  const { metadata, spec, status } = gatewaySync;
  const ready = conditionOf(status?.conditions, 'Ready');
  if (!status || !ready)
    return {
      state: 'busy',
      reason: 'NotSeen',
      says: 'not reconciled yet: if this persists, check that the controller runs and watches this namespace',
    };
  if (spec.paused)
    return { state: 'paused', reason: 'Paused', says: 'paused: nothing changes until kubectl stoker resume' };
  if (status.observedGeneration !== metadata.generation)
    return { state: 'busy', reason: 'NotSeen', says: 'the latest change of the spec is not reconciled yet' };
  const { reason } = ready;
  if (ready.status === 'True') return { state: 'ready', reason, says: readyWords(gatewaySync) };
  const isRollout = status.rollout !== undefined && reason.startsWith('Rollout');
  const says = (isRollout && status.rollout?.message) || ready.message;
  if (isRolledBack(gatewaySync, reason)) return { state: 'rolledBack', reason, says };
  return { state: ready.status === 'False' ? 'failed' : 'busy', reason, says };
}

/** Checks whether a user rolled all gateways back, and the rollback is complete. */
function isRolledBack({ status }: GatewaySync, reason: string): boolean {
  const { rollout, gateways } = status ?? {};
  if (reason !== 'RolloutRolledBack' || rollout?.phase !== 'RolledBack' || !gateways) return false;
  const { total, synced, paused, dryRun } = gateways;
  return (
    (rollout.failures ?? []).length === 0 && rollout.verified >= rollout.total && synced + paused + dryRun >= total
  );
}

function readyWords({ status }: GatewaySync): string {
  const { total = 0, synced = 0, paused = 0, dryRun = 0 } = status?.gateways ?? {};
  if (total === 0) return 'no gateways yet: annotate a pod with sync.io/inject: "true"';
  const resting = [paused > 0 && `${paused} paused`, dryRun > 0 && `${dryRun} in a dry run`].filter(Boolean);
  const all = total === 1 ? 'the gateway has it' : `all ${total} gateways have it`;
  return resting.length > 0 ? `${synced} of ${total} gateways have it, ${resting.join(', ')}` : all;
}
