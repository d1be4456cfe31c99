import { BOUNDS } from '../../shared/api/bounds.ts';
import type { SyncReport, SyncReportStatus } from '../../shared/api/sync-report.ts';
import { clockSkewOf, TOLERATED_SKEW_MS } from '../../shared/domain/clock-skew.ts';
import { withoutUndefined } from '../../shared/domain/objects.ts';
import { type ObservedPod, ownerOf } from './observed-pod.ts';
import { clip, MAX_UID } from './observed-text.ts';

/** The texts that are used, and how many characters of each are kept. */
const TEXTS = {
  state: 32,
  commit: 64,
  ref: BOUNDS.ref,
  revision: 64,
  time: 64,
  duration: 32,
  verification: 32,
  message: BOUNDS.message,
  agentVersion: 64,
} as const;

type Counts = Pick<NonNullable<SyncReportStatus['files']>, 'added' | 'modified' | 'deleted'>;

/** What the controller uses of what an agent says: neither paths nor answers to questions, which are for people. */
export type ObservedReportStatus = Pick<
  SyncReportStatus,
  keyof typeof TEXTS | 'generation' | 'rollout' | 'hasFailed'
> & { files?: Counts | undefined };

/** The fields of a SyncReport that the controller uses, 4 kB at most. */
export interface ObservedReport {
  /** UID of the pod that owns the report, as the API server knows it; what the report says of itself is not trusted. */
  podUID: string | undefined;
  status: ObservedReportStatus | undefined;
  /** Seconds by which the clock of its agent is ahead, or behind if negative; undefined up to 30 s. */
  clockSkew?: number;
}

/** Keeps the fields of a report that are used. */
export function projectReport(report: SyncReport, previous?: ObservedReport): ObservedReport {
  const { metadata, status } = report;
  const podUID = clip(metadata.ownerReferences?.find(({ kind }) => kind === 'Pod')?.uid, MAX_UID);
  if (!status?.state) return { podUID, status: undefined };
  const before = previous?.podUID === podUID ? previous : undefined;
  const clockSkew = noticedSkew(report, before);
  return { podUID, status: projectStatus(status), ...(clockSkew !== undefined && { clockSkew }) };
}

/** The same number as before while it differs little: else each report would be news. */
function noticedSkew(report: SyncReport, previous: ObservedReport | undefined): number | undefined {
  const { clockSkew: before } = previous ?? {};
  const skewMs = clockSkewOf(report);
  if (skewMs === undefined) return before;
  const seconds = Math.max(-BOUNDS.count, Math.min(Math.round(skewMs / 1000), BOUNDS.count));
  if (before !== undefined && Math.abs(seconds - before) <= SAME_SKEW) return before;
  return Math.abs(skewMs) > TOLERATED_SKEW_MS ? seconds : undefined;
}

/** Seconds. */
const SAME_SKEW = 5;

/** Whether a report is that of this very pod, and the pod a gateway. */
export const isReportOf = ({ podUID }: Pick<ObservedReport, 'podUID'>, pod: ObservedPod | undefined): boolean =>
  pod !== undefined && pod.uid === podUID && ownerOf(pod) !== undefined;

function projectStatus(status: SyncReportStatus): ObservedReportStatus {
  const { generation, rollout, hasFailed, files } = status;
  const texts = Object.entries(TEXTS).map(([name, length]) => [name, clip(status[name as keyof typeof TEXTS], length)]);
  const counts = files && { added: files.added, modified: files.modified, deleted: files.deleted };
  const fields = { ...Object.fromEntries(texts), generation, rollout, hasFailed, files: counts };
  return withoutUndefined(fields) as ObservedReportStatus;
}
