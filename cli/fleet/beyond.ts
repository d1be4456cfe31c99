import type { DiscoveredGateway } from '../../shared/api/gateway-sync-status.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import type { SyncReport, SyncReportStatus } from '../../shared/api/sync-report.ts';

/** What is known next to a GatewaySync; a part that may not be read is left out. */
export interface Beyond {
  reports?: readonly SyncReport[] | undefined;
  pods?: readonly PodIdentity[] | undefined;
}

/** A pod that runs or will run, as far as it matters here. */
export interface PodIdentity {
  metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'uid' | 'labels' | 'annotations'> & {
    deletionTimestamp?: string | undefined;
  };
}

/** What a gateway reports; undefined if nothing is known. */
export type ReportOf = (gateway: Pick<DiscoveredGateway, 'podName'>) => SyncReportStatus | undefined;

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
export function labelsIn(namespace: string, { pods }: Beyond): ReadonlyMap<string, Record<string, string>> | undefined {
  const own = pods?.filter(({ metadata }) => metadata.namespace === namespace);
  return own && new Map(own.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
}
