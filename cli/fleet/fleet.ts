import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type {
  Condition,
  ConditionType,
  DiscoveredGateway,
  GatewayCounts,
} from '../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import type { SyncReport, SyncReportStatus } from '../../shared/api/sync-report.ts';
import { type GatewayView, gatewayView } from './gateway.ts';
import { type PlacedGateway, placeInWaves, type WaveView, waveViews } from './waves.ts';

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
  resolvedAt?: string;
  counts: Counts;
  rollout?: RolloutView;
  gateways: GatewayView[];
  lastRequest?: NonNullable<GatewaySync['status']>['lastRequest'];
  lastPush?: NonNullable<GatewaySync['status']>['lastPush'];
}

/** Of a GatewaySync as a whole. */
export type ResourceState = 'ready' | 'busy' | 'failed' | 'paused';

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

/** What is known next to a GatewaySync; a part that may not be read is left out. */
export interface Beyond {
  reports?: readonly SyncReport[] | undefined;
  pods?: readonly PodLabels[] | undefined;
}

interface PodLabels {
  metadata: { name: string; namespace: string; uid: string; labels?: Record<string, string> };
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
  ...{ total: 0, synced: 0, pending: 0, error: 0 },
  ...{ missingSidecar: 0, paused: 0, dryRun: 0, skewed: 0 },
};

/** Makes the view of one GatewaySync. */
export function resourceView(gatewaySync: GatewaySync, beyond: Beyond): ResourceView {
  const { metadata, spec, status = {} } = gatewaySync;
  const { namespace, name } = metadata;
  const reportOf = reportsOf(namespace, beyond);
  const placed = placeInWaves(gatewaySync, { reportOf, labelsOf: labelsIn(namespace, beyond) });
  const { summary: _, ...counts } = status.gateways ?? { summary: '', ...NOTHING };
  const { target, lastSyncCommit, lastSyncTime, lastRequest, lastPush, rollout } = status;
  return {
    ...{ namespace, name, ...verdictOf(gatewaySync), repo: spec.git.repo },
    ...(target ? { ref: target.ref, source: target.source } : { ref: spec.git.ref }),
    ...unfollowedBy(gatewaySync),
    ...(lastSyncCommit && { commit: lastSyncCommit }),
    ...(lastSyncTime && { resolvedAt: lastSyncTime }),
    counts,
    ...(rollout && { rollout: rolloutView(rollout, placed) }),
    gateways: (status.discoveredGateways ?? []).map((gateway) =>
      gatewayView(gateway, { gatewaySync, report: reportOf(gateway), placed: placedOf(placed, gateway) }),
    ),
    ...(lastRequest && { lastRequest }),
    ...(lastPush && { lastPush }),
  };
}

/** The target moves only together with the commit, so a new spec.git.ref may not be followed. */
function unfollowedBy({ spec, status = {} }: GatewaySync): Pick<ResourceView, 'unfollowed'> {
  const { target, conditions } = status;
  const { ref } = spec.git;
  if (target?.source !== 'Spec' || target.ref === ref) return {};
  const resolved = conditionOf(conditions, 'RefResolved');
  return { unfollowed: { ref, ...(resolved?.status === 'False' && { reason: resolved.reason }) } };
}

const placedOf = (placed: readonly PlacedGateway[] | undefined, { podName }: DiscoveredGateway) =>
  placed?.find((gateway) => gateway.podName === podName);

function rolloutView(rollout: RolloutStatus, placed: PlacedGateway[] | undefined): RolloutView {
  const { number, phase, summary, commit, stableCommit, nextCommit, message, startedAt } = rollout;
  return {
    ...{ number, phase, summary, commit, stableCommit, startedAt },
    ...(nextCommit && { nextCommit }),
    ...(message && { message }),
    waves: waveViews(rollout, placed),
  };
}

type ReportOf = (gateway: DiscoveredGateway) => SyncReportStatus | undefined;

/** Reports count for the pod that they are about, and not for another one of the same name. */
export function reportsOf(namespace: string, { reports = [], pods }: Beyond): ReportOf {
  const uids = new Map(pods?.map(({ metadata }) => [`${metadata.namespace}/${metadata.name}`, metadata.uid]));
  const found = new Map(
    reports.filter(({ metadata }) => metadata.namespace === namespace).map((report) => [report.metadata.name, report]),
  );
  return ({ podName }) => {
    const status = found.get(podName)?.status;
    const uid = uids.get(`${namespace}/${podName}`);
    return uid === undefined || status?.podUID === uid ? status : undefined;
  };
}

/** Labels of the pods of a namespace; undefined where they may not be read. */
function labelsIn(namespace: string, { pods }: Beyond): ReadonlyMap<string, Record<string, string>> | undefined {
  const own = pods?.filter(({ metadata }) => metadata.namespace === namespace);
  return own && new Map(own.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
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
      says: 'the controller has not looked at it yet: if that lasts, see whether it runs and watches this namespace',
    };
  if (spec.paused)
    return { state: 'paused', reason: 'Paused', says: 'paused: nothing changes until kubectl gs resume' };
  if (status.observedGeneration !== metadata.generation)
    return { state: 'busy', reason: 'NotSeen', says: 'the controller has not seen the latest change of the spec yet' };
  const { reason } = ready;
  if (ready.status === 'True') return { state: 'ready', reason, says: readyWords(gatewaySync) };
  const says =
    status.rollout && reason.startsWith('Rollout') ? (status.rollout.message ?? ready.message) : ready.message;
  return { state: ready.status === 'False' ? 'failed' : 'busy', reason, says };
}

function readyWords({ status }: GatewaySync): string {
  const { total = 0, synced = 0, paused = 0, dryRun = 0 } = status?.gateways ?? {};
  if (total === 0) return 'no gateway yet: no pod is annotated for it';
  const resting = [paused > 0 && `${paused} paused`, dryRun > 0 && `${dryRun} in a dry run`].filter(Boolean);
  const all = total === 1 ? 'the gateway has it' : `all ${total} gateways have it`;
  return resting.length > 0 ? `${synced} of ${total} gateways have it, ${resting.join(', ')}` : all;
}
