import { BOUNDS } from '../../shared/api/bounds.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { formatDuration } from '../../shared/domain/duration.ts';
import type { Manifest } from '../plan/manifest.ts';
import type { FileCounts } from '../plan/summarize-plan.ts';
import type { Identity } from '../plan/template-values.ts';

/** What there is to say about the files. */
export interface Finding {
  state: SyncReportStatus['state'];
  message?: string;
  files?: FileCounts;
  changes?: string[];
  durationMs?: number;
}

export interface ReportContext {
  identity: Identity;
  gateway: string;
  /** What is completely on disk, if anything. */
  applied: Manifest['applied'];
  agentVersion: string;
}

/** The status of a SyncReport. `ref`, `commit` and `time` are always those on disk, never those that are wanted. */
export function reportStatus(finding: Finding, context: ReportContext): SyncReportStatus {
  const { identity, gateway, applied, agentVersion } = context;
  const { state, message, files, changes, durationMs } = finding;
  return {
    podUID: identity.podUid,
    gateway,
    profile: identity.profile,
    crName: identity.crName,
    state,
    ...(applied && { ref: applied.ref, commit: applied.commit, time: applied.time }),
    ...(durationMs !== undefined && { duration: formatDuration(durationMs) }),
    ...(files && { files }),
    ...(changes && { changes }),
    ...(message && { message: clip(message, BOUNDS.message) }),
    agentVersion,
  };
}

function clip(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1)}…`;
}
