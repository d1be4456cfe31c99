import type { TreeRecord } from './manifest.ts';
import type { LiveRoot } from './plan-input.ts';

/** Replaces the entry at a destination by a link to a new tree, or removes such a link. */
export interface Publication {
  path: string;
  from:
    | { kind: 'absent' }
    | { kind: 'link'; tree: string }
    /** `isForeign`: it is kept as a whole. */
    | { kind: 'directory'; isForeign: boolean };
  to: 'link' | 'directory' | 'nothing';
  /** The change that a dry run lists, if any. */
  change?: LinkChange | undefined;
}

/** Checks whether the destination is missing for a moment while it is exchanged. */
export const hasGap = ({ from, to }: Publication): boolean =>
  from.kind === 'directory' || (from.kind === 'link' && to === 'directory');

/** The change of the entry at an atomic destination that a dry run lists. */
export interface LinkChange {
  kind: 'add' | 'modify' | 'delete';
  reason: 'New' | 'Missing' | 'Drifted' | 'TakenOver' | 'PublishChanged' | 'NoLongerMapped';
}

interface Link extends Pick<Publication, 'to' | 'from'> {
  live: LiveRoot;
  record: TreeRecord | undefined;
  /** Whether files are still mapped to its path or below. */
  isMapped: boolean;
}

/** Returns the change of an entry; undefined for a link that only leads to another tree because files change. */
export function linkChange({ to, from, live, record, isMapped }: Link): LinkChange | undefined {
  const kind = from.kind === 'absent' ? 'add' : 'modify';
  if (to === 'directory') return { kind, reason: 'PublishChanged' };
  if (to === 'nothing') {
    const reason = isMapped ? 'PublishChanged' : 'NoLongerMapped';
    return from.kind === 'link' ? { kind: 'delete', reason } : undefined;
  }
  if (live.kind === 'link' && (!record || live.tree === record.tree)) return undefined;
  if (record) return { kind, reason: kind === 'add' ? 'Missing' : 'Drifted' };
  if (from.kind !== 'directory') return { kind, reason: 'New' };
  return { kind, reason: from.isForeign ? 'TakenOver' : 'PublishChanged' };
}

/** Returns the listed changes of links, with their paths. */
export const linkChanges = ({ publications }: { publications: readonly Publication[] }) =>
  publications.flatMap(({ path, change }) => (change ? [{ path, ...change }] : []));
