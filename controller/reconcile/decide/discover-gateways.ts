import { BOUNDS } from '../../../shared/api/bounds.ts';
import type { DiscoveredGateway, GatewayCounts } from '../../../shared/api/gateway-sync-status.ts';
import { INJECTION_ENABLED } from '../../../shared/api/names.ts';
import type { Reason } from '../../../shared/api/reasons.ts';
import { clockWords } from '../../../shared/domain/text/clock-skew.ts';
import { withoutUndefined } from '../../../shared/domain/text/objects.ts';
import type { ObservedGatewaySync } from '../../watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../../watch/observed-pod.ts';
import type { ObservedReport, ObservedReportStatus } from '../../watch/observed-report.ts';
import type { Observation } from './observation.ts';

export interface Fleet {
  /** All gateways, by pod name. */
  gateways: DiscoveredGateway[];
  counts: GatewayCounts;
}

export interface FleetInput
  extends Pick<Observation, 'gatewaySync' | 'pods' | 'missing' | 'reportOf' | 'isLabelRequired'> {
  /** Returns the files that the agent of a pod should have delivered. */
  wantedOf: (pod: ObservedPod) => WantedFiles;
}

/** The commit and, with rollouts, the revision of `spec.sync`. */
export type WantedFiles = { commit: string | undefined; revision?: string | undefined };

/** Joins pods and their reports into the state of the fleet. */
export function discoverGateways(input: FleetInput): Fleet {
  const { gatewaySync, pods, missing, reportOf, wantedOf, isLabelRequired } = input;
  const message = noSidecar(isLabelRequired);
  const desired = { generation: gatewaySync.generation, pauseOf: pausesOf(gatewaySync) };
  const gateways = [
    ...pods
      .filter(({ live }) => live)
      .map((pod) => gatewayOf(pod, reportOf(pod), { ...desired, files: wantedOf(pod) })),
    ...missing
      .filter(({ live }) => live)
      .map((pod) => ({ ...gatewayIdentity(pod), syncStatus: 'MissingSidecar' as const, message })),
  ].sort((a, b) => (a.podName < b.podName ? -1 : 1));
  return { gateways, counts: countOf(gateways) };
}

/** Selects the gateways that fit into the status, by pod name; gateways with problems always take precedence. */
export function listed(gateways: DiscoveredGateway[]): DiscoveredGateway[] {
  if (gateways.length <= BOUNDS.discoveredGateways) return gateways;
  const rankOf = ({ syncStatus, clockSkew }: DiscoveredGateway) => {
    if (syncStatus === 'Error' || syncStatus === 'MissingSidecar') return 0;
    return clockSkew === undefined ? 2 : 1;
  };
  const first = gateways.toSorted((a, b) => rankOf(a) - rankOf(b));
  const named = new Set(first.slice(0, BOUNDS.discoveredGateways));
  return gateways.filter((gateway) => named.has(gateway));
}

function noSidecar(isLabelRequired: boolean): string {
  const cause = isLabelRequired ? `, or its namespace lacks the label ${INJECTION_ENABLED}` : '';
  return `the pod was created while injection was not available${cause}; delete it so that its replacement gets the sidecar`;
}

function gatewayIdentity(pod: ObservedPod) {
  return {
    name: pod.gatewayName,
    namespace: pod.namespace,
    podName: pod.name,
    serviceAccountName: pod.serviceAccountName,
    profile: pod.profile,
  };
}

/** States in which an agent leaves the files unchanged as configured. */
type Pause = 'Paused' | 'DryRun';

/** State with which reports are compared. */
interface DesiredState {
  files: WantedFiles;
  /** Latest generation of the resource that was seen. */
  generation: number;
  /** Returns the pause that the spec configures for a profile, if any. */
  pauseOf: (profile: string) => Pause | undefined;
}

export function pausesOf({ spec }: ObservedGatewaySync): (profile: string) => Pause | undefined {
  const { profiles } = spec.sync;
  return (name) => {
    const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
    if (spec.paused || profile?.paused) return 'Paused';
    return profile?.dryRun ? 'DryRun' : undefined;
  };
}

/**
 * A report about another generation is ignored; older agents don't report theirs. A pause or a dry run is shown only
 * while the spec configures it.
 */
function stateOf(status: ObservedReportStatus, profile: string, desired: DesiredState): ObservedReportStatus['state'] {
  const { files, generation, pauseOf } = desired;
  const { state } = status;
  if (status.generation !== undefined && status.generation !== generation) return 'Pending';
  const isRight = hasFiles(status, files);
  if (state === 'Synced' && !isRight) return 'Skewed';
  if ((state === 'Paused' || state === 'DryRun') && state !== pauseOf(profile) && !isStandby(status)) return 'Pending';
  return state;
}

/** Whether an agent doesn't deliver because another gateway gives its gateway the files. */
export const isStandby = (status: ObservedReportStatus | undefined): boolean =>
  status?.state === 'Paused' && status.reason === ('Standby' satisfies Reason);

/** Whether a gateway has the files of a release: it was delivered, or leaves the present files unchanged. */
function hasFiles({ commit, revision, preview, unchangedAt }: ObservedReportStatus, files: WantedFiles): boolean {
  if (preview && unchangedAt === files.commit && preview.commit === files.commit && preview.revision === files.revision)
    return true;
  return commit === files.commit && (!files.revision || revision === files.revision);
}

function gatewayOf(pod: ObservedPod, report: ObservedReport | undefined, desired: DesiredState): DiscoveredGateway {
  const { status, clockSkew } = report ?? {};
  const message = [status?.message, pod.waiting, clockSkew && clockWords(clockSkew * 1000)]
    .filter(Boolean)
    .join('; ')
    .slice(0, BOUNDS.message)
    .toWellFormed();
  const syncStatus = status ? stateOf(status, pod.profile, desired) : ('Pending' as const);
  return withoutUndefined({
    ...gatewayIdentity(pod),
    syncStatus,
    syncedCommit: status?.commit || undefined,
    syncedRef: status?.ref || undefined,
    lastSyncTime: status?.time,
    lastSyncDuration: status?.duration || undefined,
    agentVersion: status?.agentVersion || undefined,
    // The reason belongs to the state in the report.
    reason: (syncStatus === status?.state && status.reason) || undefined,
    message: message || undefined,
    clockSkew: clockSkew || undefined,
    filesChanged: status?.files && changedIn(status.files),
  });
}

const changedIn = ({ added = 0, modified = 0, deleted = 0 }: NonNullable<ObservedReportStatus['files']>): number =>
  Math.min(added + modified + deleted, BOUNDS.count);

function countOf(gateways: DiscoveredGateway[]): GatewayCounts {
  const count = (state: DiscoveredGateway['syncStatus']) =>
    gateways.filter(({ syncStatus }) => syncStatus === state).length;
  const total = gateways.length;
  const synced = count('Synced');
  return {
    summary: `${synced}/${total} synced`,
    total,
    synced,
    pending: count('Pending'),
    error: count('Error'),
    missingSidecar: count('MissingSidecar'),
    paused: count('Paused'),
    dryRun: count('DryRun'),
    skewed: count('Skewed'),
  };
}
