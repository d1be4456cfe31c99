import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { Condition, ConditionType, GatewayCounts } from '../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { withoutUndefined } from '../../shared/domain/objects.ts';
import { allGateways } from './all-gateways.ts';
import { type Beyond, labelsIn, reportsOf } from './beyond.ts';
import { type GatewayView, gatewayView } from './gateway.ts';
import { isBackwards, type PlacedGateway, placeInWaves, type WaveView, waveViews } from './waves.ts';

/** What a person wants to know of a GatewaySync. Plain data: it is what `--output json` prints. */
export interface ResourceView {
  namespace: string;
  name: string;
  state: ResourceState;
  /** Reason of the condition Ready. */
  reason: string;
  /** What is the matter, or that all is well, in a sentence. */
  says: string;
  repo: string;
  /** What is followed, and who asked for it. */
  ref?: string;
  source?: 'Spec' | 'Request' | 'Push';
  /** What spec.git.ref was changed to, where that is not followed, and the reason of RefResolved. */
  unfollowed?: { ref: string; reason?: string };
  /** The newest commit, whoever has it. */
  commit?: string;
  /** What all gateways are to have in its place, where they were taken back. */
  backOn?: string;
  resolvedAt?: string;
  counts: Counts;
  rollout?: RolloutView;
  gateways: GatewayView[];
  lastRequest?: NonNullable<GatewaySync['status']>['lastRequest'];
  lastPush?: NonNullable<GatewaySync['status']>['lastPush'];
}

/** Of a GatewaySync as a whole. `rolledBack` is not ready, but nothing is wrong: a person went to another commit. */
export type ResourceState = 'ready' | 'busy' | 'failed' | 'paused' | 'rolledBack';

type Counts = Omit<GatewayCounts, 'summary'>;

/** How far a change is, where changes go by waves. */
type RolloutView = Pick<
  RolloutStatus,
  'number' | 'phase' | 'summary' | 'commit' | 'stableCommit' | 'nextCommit' | 'message' | 'startedAt'
> & { waves: WaveView[] };

/** Several GatewaySyncs with the sums over them, and over nothing else. */
export interface FleetView {
  items: ResourceView[];
  totals: { resources: number; ready: number; gateways: number; synced: number };
}

/** Makes the view of several GatewaySyncs. */
export function fleetView(gatewaySyncs: readonly GatewaySync[], beyond: Beyond): FleetView {
  const items = gatewaySyncs.map((gatewaySync) => resourceView(gatewaySync, beyond));
  const sum = (count: (item: ResourceView) => number) => items.reduce((total, item) => total + count(item), 0);
  return {
    items,
    totals: {
      resources: items.length,
      ready: items.filter(({ state }) => state === 'ready').length,
      gateways: sum(({ counts }) => counts.total),
      synced: sum(({ counts }) => counts.synced),
    },
  };
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

/** Makes the view of one GatewaySync. */
export function resourceView(gatewaySync: GatewaySync, beyond: Beyond): ResourceView {
  const { metadata, spec, status = {} } = gatewaySync;
  const { namespace, name } = metadata;
  const reportOf = reportsOf(namespace, beyond);
  const all = allGateways(gatewaySync, beyond);
  const { summary: _, ...counts } = status.gateways ?? { summary: '', ...NOTHING };
  const placed = placeInWaves(gatewaySync, all, { reportOf, labelsOf: labelsIn(namespace, beyond) });
  const placeOf = new Map(placed?.map((each) => [each.podName, each]));
  const { target, lastSyncCommit, lastSyncTime, lastRequest, lastPush, rollout } = status;
  return withoutUndefined({
    namespace,
    name,
    ...verdictOf(gatewaySync),
    repo: spec.git.repo,
    ref: target?.ref ?? spec.git.ref,
    source: target?.source,
    ...unfollowedBy(gatewaySync),
    commit: lastSyncCommit,
    backOn: rollout && isBackwards(rollout) ? rollout.stableCommit : undefined,
    resolvedAt: lastSyncTime,
    counts,
    // Of some of the gateways only, no number of a wave would be right.
    rollout: rollout && rolloutView(rollout, all.length < counts.total ? undefined : placed),
    gateways: all.map((gateway) =>
      gatewayView(gateway, { gatewaySync, report: reportOf(gateway), placed: placeOf.get(gateway.podName) }),
    ),
    lastRequest,
    lastPush,
  });
}

/** The target moves only together with the commit, so a new spec.git.ref may not be followed. */
function unfollowedBy({ spec, status = {} }: GatewaySync): Pick<ResourceView, 'unfollowed'> {
  const { target, conditions } = status;
  const { ref } = spec.git;
  if (target?.source !== 'Spec' || target.ref === ref) return {};
  const resolved = conditionOf(conditions, 'RefResolved');
  return { unfollowed: { ref, ...(resolved?.status === 'False' && { reason: resolved.reason }) } };
}

function rolloutView(rollout: RolloutStatus, placed: PlacedGateway[] | undefined): RolloutView {
  const { number, phase, summary, commit, stableCommit, nextCommit, message, startedAt } = rollout;
  return withoutUndefined({
    number,
    phase,
    summary,
    commit,
    stableCommit,
    startedAt,
    nextCommit,
    message: message || undefined,
    waves: waveViews(rollout, placed),
  });
}

const conditionOf = (conditions: readonly Condition[] | undefined, type: ConditionType) =>
  conditions?.find((condition) => condition.type === type);

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
  const says =
    status.rollout && reason.startsWith('Rollout') ? (status.rollout.message ?? ready.message) : ready.message;
  if (isRolledBack(gatewaySync, reason)) return { state: 'rolledBack', reason, says };
  return { state: ready.status === 'False' ? 'failed' : 'busy', reason, says };
}

/** Whether a person took all gateways to another commit, and all of them are there. */
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
