import type { ManagedFieldsEntry, ObjectMeta } from '../api/object-meta.ts';
import { formatDuration } from './duration.ts';

/** Differences up to this are not worth a word, in milliseconds. */
export const TOLERATED_SKEW_MS = 30_000;

/** A report, as far as it tells how right the clock of its writer is. */
export interface Stamped {
  metadata: Pick<ObjectMeta, 'creationTimestamp' | 'managedFields'>;
  status?: { reportedAt?: string | undefined; time?: string | undefined } | undefined;
}

/**
 * How far the clock of an agent is ahead of the API server's, in milliseconds, or behind it if negative: what a report says
 * of when it was written, next to when the API server wrote it. Undefined if that is not known. Of an agent that does not
 * say it there is only the time of its sync, which no later write repeats, so an earlier one counts only if `isTimeNew`.
 */
export function clockSkewOf({ metadata, status }: Stamped, { isTimeNew = false } = {}): number | undefined {
  const writtenAt = writtenAtOf(metadata);
  const reportedAt = Date.parse(status?.reportedAt ?? '');
  if (!Number.isNaN(reportedAt)) return orUndefined(reportedAt - writtenAt);
  const skew = orUndefined(Date.parse(status?.time ?? '') - writtenAt);
  const isFirst = writtenAt - Date.parse(metadata.creationTimestamp) <= 1_000;
  return skew !== undefined && (skew > 0 || isFirst || isTimeNew) ? skew : undefined;
}

const orUndefined = (ms: number): number | undefined => (Number.isNaN(ms) ? undefined : ms);

/** When the API server last took a status. */
function writtenAtOf({ managedFields = [], creationTimestamp }: Stamped['metadata']): number {
  const isOfStatus = ({ fieldsV1 = {} }: ManagedFieldsEntry) => 'f:status' in fieldsV1;
  const times = managedFields.filter(isOfStatus).map(({ time = '' }) => Date.parse(time));
  const known = times.filter((time) => !Number.isNaN(time));
  return known.length > 0 ? Math.max(...known) : Date.parse(creationTimestamp);
}

/** Says of a clock how wrong it is. */
export const clockWords = (skewMs: number): string =>
  `its clock is ${formatDuration(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead of' : 'behind'} the API server's`;
