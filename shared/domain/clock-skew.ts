import type { ManagedFieldsEntry, ObjectMeta } from '../api/object-meta.ts';
import { formatDuration } from './duration.ts';

/** Differences up to this are not worth a word, in milliseconds. */
export const TOLERATED_SKEW_MS = 30_000;

/** A report, as far as it tells how right the clock of its writer is. */
export interface Stamped {
  metadata: Pick<ObjectMeta, 'creationTimestamp' | 'managedFields'>;
  status?: { reportedAt?: string | undefined } | undefined;
}

/**
 * How far the clock of an agent is ahead of the API server's, in milliseconds, or behind it if negative: what a report says
 * of when it was written, next to when the API server wrote it. Undefined if that is not known.
 */
export function clockSkewOf({ metadata, status }: Stamped): number | undefined {
  const skewMs = Date.parse(status?.reportedAt ?? '') - writtenAtOf(metadata);
  return Number.isNaN(skewMs) ? undefined : skewMs;
}

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
