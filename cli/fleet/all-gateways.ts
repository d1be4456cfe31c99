import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { DiscoveredGateway } from '../../shared/api/gateway-sync-status.ts';
import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { GatewayReport, PodIdentity } from '../client/gateway-objects.ts';
import { type Beyond, type ReportOf, reportsOf } from './beyond.ts';

/**
 * Returns all gateways of a GatewaySync, sorted by pod name. The status lists a limited number; the others are found by
 * their reports and their pods. If these aren't readable, the result can have fewer gateways than the count in the
 * status.
 */
export function allGateways(
  gatewaySync: GatewaySync,
  beyond: Beyond,
  reportOf: ReportOf = reportsOf(gatewaySync.metadata.namespace, beyond),
): DiscoveredGateway[] {
  const { discoveredGateways: listed = [], gateways: counts } = gatewaySync.status ?? {};
  if (listed.length >= (counts?.total ?? 0) || !beyond.reports) return listed;
  const known = new Set(listed.map(({ podName }) => podName));
  const others = (beyond.pods ? podsIn(gatewaySync, beyond.pods) : reportingPods(gatewaySync, beyond.reports))
    .filter(({ metadata }) => !known.has(metadata.name))
    .map((pod) => gatewayOf(pod, reportOf({ podName: pod.metadata.name }), gatewaySync));
  return others.length === 0 ? listed : [...listed, ...others].sort((a, b) => (a.podName < b.podName ? -1 : 1));
}

interface Identity {
  metadata: Pick<PodIdentity['metadata'], 'name' | 'namespace' | 'labels' | 'annotations'>;
}

function podsIn({ metadata: { namespace, name } }: GatewaySync, pods: readonly PodIdentity[]): Identity[] {
  return pods
    .filter(({ metadata }) => metadata.namespace === namespace && metadata.deletionTimestamp === undefined)
    .filter((pod) => isGateway(pod) && pod.metadata.annotations?.[POD_ANNOTATIONS.crName] === name);
}

/** Without permission to list pods, a pod is known from its report, which is deleted with it. */
const reportingPods = ({ metadata: { namespace, name } }: GatewaySync, reports: readonly GatewayReport[]): Identity[] =>
  reports.filter(({ metadata, status }) => metadata.namespace === namespace && status?.crName === name);

/** Checks for the annotation `inject`: like the controller, ignores pods without it. */
const isGateway = ({ metadata: { annotations = {} } }: PodIdentity): boolean =>
  [POD_ANNOTATIONS.inject, POD_ANNOTATIONS.injected].some((key) => annotations[key] === 'true');

function gatewayOf(
  { metadata }: Identity,
  report: SyncReportStatus | undefined,
  gatewaySync: GatewaySync,
): DiscoveredGateway {
  const { name: podName, namespace, annotations, labels = {} } = metadata;
  // The controller computes waves from the pod. Without permission to list pods, only reports have the name.
  const given = annotations
    ? {
        name: annotations[POD_ANNOTATIONS.gatewayName] ?? labels['app.kubernetes.io/name'],
        profile: annotations[POD_ANNOTATIONS.profile] ?? 'default',
      }
    : { name: report?.gateway, profile: report?.profile };
  const { name = podName, profile } = given;
  const { commit, time, duration, reason, message } = report ?? {};
  return withoutUndefined({
    name,
    namespace,
    podName,
    syncStatus: stateOf(report, gatewaySync),
    profile: profile || undefined,
    syncedCommit: commit,
    lastSyncTime: time,
    lastSyncDuration: duration,
    reason,
    message: message || undefined,
  });
}

/** Returns the state in a report, unless there is none, or it is about an earlier spec or an outdated commit. */
function stateOf(
  report: SyncReportStatus | undefined,
  { metadata, status = {} }: GatewaySync,
): DiscoveredGateway['syncStatus'] {
  const { state = 'Pending', generation, commit = '' } = report ?? {};
  if (generation !== undefined && generation !== metadata.generation) return 'Pending';
  const { rollout, lastSyncCommit } = status;
  const wanted = rollout ? [rollout.commit, rollout.stableCommit] : [lastSyncCommit];
  return state === 'Synced' && !wanted.includes(commit) ? 'Skewed' : state;
}
