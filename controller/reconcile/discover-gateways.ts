import { BOUNDS } from '../../shared/api/bounds.ts';
import type { DiscoveredGateway, GatewayCounts } from '../../shared/api/gateway-sync-status.ts';
import type { ObservedPod, ObservedReport } from '../watch/observed-pod.ts';

export interface Fleet {
  /** All gateways, by pod name. */
  gateways: DiscoveredGateway[];
  counts: GatewayCounts;
}

export interface FleetInput {
  /** Injected pods of this resource. */
  pods: ObservedPod[];
  /** Pods that ask for the sidecar and have none. */
  missing: ObservedPod[];
  reportOf: (pod: ObservedPod) => ObservedReport | undefined;
  /** What agents should have on disk. */
  commit: string | undefined;
}

/** Joins pods and their reports into the state of the fleet. */
export function discoverGateways({ pods, missing, reportOf, commit }: FleetInput): Fleet {
  const gateways = [
    ...pods.filter(({ live }) => live).map((pod) => gatewayOf(pod, reportOf(pod), commit)),
    ...missing
      .filter(({ live }) => live)
      .map((pod) => ({ ...identityOf(pod), syncStatus: 'MissingSidecar' as const, message: noSidecar })),
  ].sort((a, b) => (a.podName < b.podName ? -1 : 1));
  return { gateways, counts: countOf(gateways) };
}

/** The list as it fits into status. */
export function listed(gateways: DiscoveredGateway[]): DiscoveredGateway[] {
  return gateways.slice(0, BOUNDS.discoveredGateways);
}

const noSidecar =
  'the pod was created while injection was not available: delete it, so that it comes back with the sidecar';

function identityOf(pod: ObservedPod) {
  return {
    name: pod.gatewayName.slice(0, BOUNDS.text),
    namespace: pod.namespace,
    podName: pod.name,
    serviceAccountName: pod.serviceAccountName,
    profile: pod.profile.slice(0, BOUNDS.text),
  };
}

function gatewayOf(
  pod: ObservedPod,
  report: ObservedReport | undefined,
  commit: string | undefined,
): DiscoveredGateway {
  const status = report?.podUID === pod.uid ? report.status : undefined;
  if (!status) return { ...identityOf(pod), syncStatus: 'Pending' };
  const { added = 0, modified = 0, deleted = 0 } = status.files ?? {};
  const optional = {
    syncedCommit: status.commit,
    syncedRef: status.ref,
    lastSyncTime: status.time,
    lastSyncDuration: status.duration,
    agentVersion: status.agentVersion,
    message: status.message,
  };
  return {
    ...identityOf(pod),
    syncStatus: status.state === 'Synced' && status.commit !== commit ? 'Skewed' : status.state,
    ...(Object.fromEntries(Object.entries(optional).filter(([, value]) => value)) as Partial<DiscoveredGateway>),
    ...(status.files ? { filesChanged: added + modified + deleted } : {}),
  };
}

function countOf(gateways: DiscoveredGateway[]): GatewayCounts {
  const count = (state: DiscoveredGateway['syncStatus']) =>
    gateways.filter(({ syncStatus }) => syncStatus === state).length;
  const [total, synced] = [gateways.length, count('Synced')];
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
