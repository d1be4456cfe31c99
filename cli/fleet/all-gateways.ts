import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { DiscoveredGateway } from '../../shared/api/gateway-sync-status.ts';
import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { withoutUndefined } from '../../shared/domain/objects.ts';
import { type Beyond, type PodIdentity, reportsOf } from './beyond.ts';

/**
 * Returns all gateways of a GatewaySync, sorted by pod name. The status lists a limited number; the others are found by
 * their pods and reports. If pods aren't readable, the result can have fewer gateways than the count in the status.
 */
export function allGateways(gatewaySync: GatewaySync, beyond: Beyond): DiscoveredGateway[] {
  const { discoveredGateways: listed = [], gateways: counts } = gatewaySync.status ?? {};
  const others = listed.length < (counts?.total ?? 0) ? unlistedIn(gatewaySync, beyond, listed) : [];
  return others.length === 0 ? listed : [...listed, ...others].sort((a, b) => (a.podName < b.podName ? -1 : 1));
}

function unlistedIn(
  gatewaySync: GatewaySync,
  beyond: Beyond,
  listed: readonly DiscoveredGateway[],
): DiscoveredGateway[] {
  const { namespace, name } = gatewaySync.metadata;
  const known = new Set(listed.map(({ podName }) => podName));
  const reportOf = reportsOf(namespace, beyond);
  return (beyond.pods ?? [])
    .filter(({ metadata }) => metadata.namespace === namespace && metadata.deletionTimestamp === undefined)
    .filter(({ metadata }) => metadata.annotations?.[POD_ANNOTATIONS.crName] === name && !known.has(metadata.name))
    .filter(isGateway)
    .map((pod) => gatewayOf(pod, reportOf({ podName: pod.metadata.name }), gatewaySync));
}

/** Checks for the annotation `inject`: like the controller, ignores pods without it. */
const isGateway = ({ metadata: { annotations = {} } }: PodIdentity): boolean =>
  [POD_ANNOTATIONS.inject, POD_ANNOTATIONS.injected].some((key) => annotations[key] === 'true');

function gatewayOf(
  { metadata }: PodIdentity,
  report: SyncReportStatus | undefined,
  gatewaySync: GatewaySync,
): DiscoveredGateway {
  const { name: podName, namespace, annotations = {}, labels = {} } = metadata;
  const named = annotations[POD_ANNOTATIONS.gatewayName] ?? labels['app.kubernetes.io/name'] ?? podName;
  const {
    gateway: name = named,
    profile = annotations[POD_ANNOTATIONS.profile],
    commit,
    time,
    duration,
    message,
  } = report ?? {};
  return withoutUndefined({
    name,
    namespace,
    podName,
    syncStatus: report ? stateOf(report, gatewaySync) : 'Pending',
    profile: profile || undefined,
    syncedCommit: commit,
    lastSyncTime: time,
    lastSyncDuration: duration,
    message: message || undefined,
  });
}

/** Returns the state in a report, unless it is about an earlier spec or an outdated commit. */
function stateOf(
  { state, generation, commit = '' }: SyncReportStatus,
  { metadata, status = {} }: GatewaySync,
): DiscoveredGateway['syncStatus'] {
  if (generation !== undefined && generation !== metadata.generation) return 'Pending';
  const { rollout, lastSyncCommit } = status;
  const wanted = rollout ? [rollout.commit, rollout.stableCommit] : [lastSyncCommit];
  return state === 'Synced' && !wanted.includes(commit) ? 'Skewed' : state;
}
