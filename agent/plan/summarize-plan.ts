import { BOUNDS } from '../../shared/api/bounds.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { truncate } from '../../shared/domain/text/text.ts';
import type { Change, Plan } from './plan-changes.ts';
import { linkChanges } from './publication.ts';

export type FileCounts = NonNullable<SyncReportStatus['files']>;

interface Counted extends Pick<Plan, 'unchanged'> {
  changes: readonly Pick<Change, 'kind'>[];
}

/** Returns the number of files of each kind. */
export function countFiles({ changes, unchanged }: Counted): FileCounts {
  const count = (kind: Change['kind']) => changes.filter((change) => change.kind === kind).length;
  return {
    added: count('add'),
    modified: count('modify'),
    deleted: count('delete'),
    unchanged,
  };
}

/** Returns the number of files to repair because others changed or removed them. */
export function countDrift({ drift }: Plan): number {
  return drift.filter(({ isRepaired }) => isRepaired).length;
}

/** Returns a line for each of the first changes, links first, such as `modify projects/a.json (Drifted)`. */
export function describeChanges(plan: Pick<Plan, 'changes' | 'publications'>, limit: number): string[] {
  const all = [...linkChanges(plan), ...plan.changes.slice(0, limit)];
  return all.slice(0, limit).map(describeChange);
}

/** Returns the line of a change. The beginning of a path shows which destination it is in. */
export function describeChange({ kind, path, reason }: { kind: string; path: string; reason: string }): string {
  const entry = (shown: string) => `${kind} ${shown} (${reason})`;
  return entry(truncate(path, BOUNDS.change - entry('').length));
}
