import type { DiscoveredGateway } from '../../shared/api/gateway-sync-status.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import type { StoredRelease } from '../../shared/domain/rollout/stored-release.ts';
import type { GatewayReport, PodIdentity } from '../client/gateway-objects.ts';

/** Kinds with data about gateways. */
export type GatewayKind = 'SyncReports' | 'pods';

/** Data about GatewaySyncs beyond themselves; parts that aren't readable are undefined. */
export interface Beyond {
  releases?: readonly StoredRelease[] | undefined;
  reports?: readonly GatewayReport[] | undefined;
  pods?: readonly PodIdentity[] | undefined;
  /** The undefined parts about gateways are still being read. */
  isLoading?: boolean;
}

/** Returns the report of a gateway, or undefined. */
export type ReportOf = (gateway: Pick<DiscoveredGateway, 'podName'>) => SyncReportStatus | undefined;

/** Indexes reports by pod. A report about an earlier pod with the same name is ignored. */
export function reportsOf(namespace: string, { reports = [], pods }: Beyond): ReportOf {
  const uids = new Map<string, string>();
  for (const { metadata } of pods ?? []) if (metadata.namespace === namespace) uids.set(metadata.name, metadata.uid);
  const found = new Map<string, SyncReportStatus | undefined>();
  for (const { metadata, status } of reports) if (metadata.namespace === namespace) found.set(metadata.name, status);
  return ({ podName }) => {
    const status = found.get(podName);
    const uid = uids.get(podName);
    return uid === undefined || status?.podUID === uid ? status : undefined;
  };
}

/** Labels of the pods of a namespace; undefined if they aren't readable. */
export function labelsIn(namespace: string, { pods }: Beyond): ReadonlyMap<string, Record<string, string>> | undefined {
  const own = pods?.filter(({ metadata }) => metadata.namespace === namespace);
  return own && new Map(own.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
}
