import type { DiscoveredGateway } from '../../shared/api/gateway-sync-status.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import type { SyncReport, SyncReportStatus } from '../../shared/api/sync-report.ts';

/** Data about a GatewaySync's gateways; parts that aren't readable are undefined. */
export interface Beyond {
  reports?: readonly SyncReport[] | undefined;
  pods?: readonly PodIdentity[] | undefined;
}

/** Parts of a pod that isn't completed. */
export interface PodIdentity {
  metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'uid' | 'labels' | 'annotations'> & {
    deletionTimestamp?: string | undefined;
  };
}

/** Returns the report of a gateway, or undefined. */
export type ReportOf = (gateway: Pick<DiscoveredGateway, 'podName'>) => SyncReportStatus | undefined;

/** Indexes reports by pod. A report about an earlier pod with the same name is ignored. */
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

/** Labels of the pods of a namespace; undefined if they aren't readable. */
export function labelsIn(namespace: string, { pods }: Beyond): ReadonlyMap<string, Record<string, string>> | undefined {
  const own = pods?.filter(({ metadata }) => metadata.namespace === namespace);
  return own && new Map(own.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
}
