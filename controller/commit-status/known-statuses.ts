import type { CommitStatusRecord } from '../../shared/api/gateway-sync-status.ts';
import { wholeSeconds } from '../../shared/domain/duration.ts';
import type { Destination } from './destination.ts';
import { type NextPost, nextPost, type WantedPost } from './next-post.ts';

/** What is known of the statuses of a resource. */
export interface KnownStatuses {
  wanted: WantedPost | undefined;
  posted: CommitStatusRecord | undefined;
  /** What was last posted of the commits before, the oldest first: a ref that goes back and forth gets no more posts. */
  earlier: CommitStatusRecord[];
}

/** Commits of a resource whose last status is remembered. */
const REMEMBERED = 8;

/** Makes what is known of the wanted commit that which was last posted; gives whether it was another one. */
export function recall(statuses: KnownStatuses): boolean {
  const { wanted: { destination, wanted } = {}, posted, earlier } = statuses;
  const known = earlier.find(({ commit, target }) => commit === wanted?.commit && target === destination?.target);
  const isPosted = posted?.commit === wanted?.commit && posted?.target === destination?.target;
  if (!known || isPosted) return false;
  note(statuses, known);
  return true;
}

/** What is to be posted first: of a commit of which nothing was said nothing is said now. */
export function formerOf(
  { destination, wanted: { former } }: WantedPost,
  known: CommitStatusRecord[],
): NextPost | undefined {
  const record = known.find(({ commit, target }) => commit === former?.commit && target === destination.target);
  return record && former && nextPost(record, { destination, wanted: former }, 0);
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
  { destination: { context, target }, status: { commit }, number }: NextPost & { destination: Destination },
  state: CommitStatusRecord['state'],
): CommitStatusRecord {
  return { commit, context, state, target, posts: number, time: wholeSeconds(Date.now()) };
}
