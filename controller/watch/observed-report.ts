import { BOUNDS } from '../../shared/api/bounds.ts';
import type { GatewayPreview, SyncReport, SyncReportStatus } from '../../shared/api/sync-report.ts';
import { MAX_UID } from '../../shared/domain/kubernetes/object-name.ts';
import { clockSkewOf, TOLERATED_SKEW_MS } from '../../shared/domain/text/clock-skew.ts';
import { omit, withoutUndefined } from '../../shared/domain/text/objects.ts';
import { clip } from '../../shared/domain/text/text.ts';

/** Unused fields: paths and inspections are for users, and the pod has its names. */
const UNUSED = ['podUID', 'gateway', 'profile', 'crName', 'reportedAt', 'changes', 'inspection'] as const;

/** The fields of a status that the controller uses. The CRD limits the length of each. */
export type ObservedReportStatus = Omit<SyncReportStatus, (typeof UNUSED)[number] | 'preview'> & {
  preview?: Omit<GatewayPreview, 'paths'> | undefined;
};

/** The fields of a SyncReport that the controller uses, at most 9 kB. */
export interface ObservedReport {
  /** UID of the pod that owns the report, from the API server, because the content of a report isn't trusted. */
  podUID: string | undefined;
  status: ObservedReportStatus | undefined;
  /** Seconds by which the clock of its agent is ahead (negative if behind); undefined up to 30 s. */
  clockSkew?: number;
}

/** Reduces a report to the fields used. */
export function projectReport(report: SyncReport, previous?: ObservedReport): ObservedReport {
  const { metadata, status } = report;
  const podUID = clip(metadata.ownerReferences?.find(({ kind }) => kind === 'Pod')?.uid, MAX_UID);
  if (!status?.state) return { podUID, status: undefined };
  const before = previous?.podUID === podUID ? previous : undefined;
  const clockSkew = noticedSkew(report, before);
  return { podUID, status: usedOf(status), ...(clockSkew !== undefined && { clockSkew }) };
}

function usedOf(status: SyncReportStatus): ObservedReportStatus {
  const { preview, ...used } = omit(status, ...UNUSED);
  if (!preview) return used;
  const { failure, everyCommit, ...others } = omit(preview, 'paths');
  const texts = { failure: clip(failure, MAX_SHOWN), everyCommit: clip(everyCommit, MAX_SHOWN) };
  return { ...used, preview: withoutUndefined({ ...others, ...texts }) };
}

/** Characters of a text that the status of the GatewaySync shows. */
const MAX_SHOWN = 200;

/** Keeps the previous number if it differs little, so that not each report is a change. */
function noticedSkew(report: SyncReport, previous: ObservedReport | undefined): number | undefined {
  const { clockSkew: before } = previous ?? {};
  const skewMs = clockSkewOf(report);
  if (skewMs === undefined) return before;
  const seconds = Math.max(-BOUNDS.count, Math.min(Math.round(skewMs / 1000), BOUNDS.count));
  if (before !== undefined && Math.abs(seconds - before) <= SAME_SKEW) return before;
  return Math.abs(skewMs) > TOLERATED_SKEW_MS ? seconds : undefined;
}

/** In seconds. */
const SAME_SKEW = 5;
