import type { ManagedFieldsEntry, ObjectMeta } from '../../api/object-meta.ts';
import { formatDuration } from './duration.ts';

/** Maximum difference that is ignored (ms). */
export const TOLERATED_SKEW_MS = 30_000;

/** The parts of a report that show its writer's clock. */
export interface Stamped {
  metadata: Pick<ObjectMeta, 'creationTimestamp' | 'managedFields'>;
  status?: { reportedAt?: string | undefined } | undefined;
}

/** Difference of an agent's clock to the API server's (ms), negative if the agent's is behind; undefined if unknown. */
export function clockSkewOf({ metadata, status }: Stamped): number | undefined {
  const skewMs = Date.parse(status?.reportedAt ?? '') - writtenAtOf(metadata);
  return Number.isNaN(skewMs) ? undefined : skewMs;
}

/** Time at which the API server last stored a status. */
function writtenAtOf({ managedFields = [], creationTimestamp }: Stamped['metadata']): number {
  const isOfStatus = ({ fieldsV1 = {} }: ManagedFieldsEntry) => 'f:status' in fieldsV1;
  const times = managedFields.filter(isOfStatus).map(({ time = '' }) => Date.parse(time));
  const known = times.filter((time) => !Number.isNaN(time));
  return known.length > 0 ? Math.max(...known) : Date.parse(creationTimestamp);
}

/** Describes the difference of a clock. */
export const clockWords = (skewMs: number): string =>
  `its clock is ${formatDuration(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead of' : 'behind'} the API server's`;
