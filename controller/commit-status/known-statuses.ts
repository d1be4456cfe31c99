import type { CommitStatusRecord } from '../../shared/api/gateway-sync-status.ts';
import { wholeSeconds } from '../../shared/domain/duration.ts';
import { type NextPost, nextPost, type Wanted } from './next-post.ts';
import type { Place } from './place.ts';

/** What is known of the statuses of a resource. */
export interface KnownStatuses {
  wanted: Wanted | undefined;
  posted: CommitStatusRecord | undefined;
  /** What was last posted of the commits before, the oldest first: a ref that goes back and forth gets no more posts. */
  earlier: CommitStatusRecord[];
}

/** Commits of a resource whose last status is remembered. */
const REMEMBERED = 8;

/** Makes what is known of the wanted commit that which was last posted; gives whether it was another one. */
export function recall(statuses: KnownStatuses): boolean {
  const { wanted: { place, wanted } = {}, posted, earlier } = statuses;
  const known = earlier.find(({ commit, target }) => commit === wanted?.commit && target === place?.target);
  const isPosted = posted?.commit === wanted?.commit && posted?.target === place?.target;
  if (!known || isPosted) return false;
  note(statuses, known);
  return true;
}

/** What is to be posted first: of a commit of which nothing was said nothing is said now. */
export function formerOf({ place, wanted: { former } }: Wanted, known: CommitStatusRecord[]): NextPost | undefined {
  const record = known.find(({ commit, target }) => commit === former?.commit && target === place.target);
  return record && former && nextPost(record, { place, wanted: former }, 0);
}

/** Notes what was last posted. */
export function note(statuses: KnownStatuses, record: CommitStatusRecord): void {
  const isOther = ({ commit, target }: CommitStatusRecord) => commit !== record.commit || target !== record.target;
  const { earlier, posted } = statuses;
  statuses.earlier = [...earlier, ...(posted ? [posted] : [])].filter(isOther).slice(-REMEMBERED);
  statuses.posted = record;
}

/** The record of a post that was made just now. */
export function recordOf(
  { place: { context, target }, status: { commit }, number }: NextPost & { place: Place },
  state: CommitStatusRecord['state'],
): CommitStatusRecord {
  return { commit, context, state, target, posts: number, time: wholeSeconds(Date.now()) };
}
