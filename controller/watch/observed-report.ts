import type { SyncReport, SyncReportStatus } from '../../shared/api/sync-report.ts';

/** The fields of a SyncReport that the controller uses. */
export interface ObservedReport {
  namespace: string;
  name: string;
  /** UID of the pod that owns the report, as the API server knows it; what the report says of itself is not trusted. */
  podUID: string | undefined;
  status: SyncReportStatus | undefined;
}

/** Keeps what is used of a report; the paths of a dry run are for people. */
export function projectReport({ metadata, status }: SyncReport): ObservedReport {
  const { changes: _, ...kept } = status ?? ({} as Partial<SyncReportStatus>);
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    podUID: metadata.ownerReferences?.find(({ kind }) => kind === 'Pod')?.uid,
    status: kept.state ? { ...kept, state: kept.state } : undefined,
  };
}
