import type { CommitStatusRecord } from '../../shared/api/gateway-sync-status.ts';
import type { Destination, Problem } from './destination.ts';
import type { CommitStatus } from './requests.ts';
import type { WantedStatus } from './wanted-status.ts';

/** The commit status of a resource, and its destination. */
export interface WantedPost {
  destination: Destination;
  wanted: WantedStatus;
}

/** State of a resource's commit status; `unknown` until an attempt has ended. */
export interface StatusNews {
  posted: CommitStatusRecord | undefined;
  problem: Problem | 'unknown' | undefined;
}

/** Maximum posts per commit; GitHub refuses more than 1,000 statuses of one name. */
const MAX_POSTS = 5;

/**
 * Time for which a change must last before it is posted (ms), by the number of posts for the commit. Results aren't
 * delayed, and flapping gateways must not use up the posts.
 */
const MIN_DURATION_MS = [0, 0, 10_000, 60_000, 600_000];

/** The next post, when it is due, and its number among the statuses of its commit. */
export interface NextPost {
  inMs: number;
  number: number;
  status: CommitStatus;
}

/**
 * Returns the next post for a commit, whose status has been wanted for a time (ms), after the last post for it. A
 * result never returns to pending, and another description of the same state isn't posted.
 */
export function nextPost(
  posted: CommitStatusRecord | undefined,
  { commit, ref, state, description, settling, isDecided }: WantedStatus,
  wantedForMs: number,
): NextPost | undefined {
  const unsettledMs = (settling?.ms ?? 0) - wantedForMs;
  const status = { commit, ref, state, description };
  if (!posted) {
    const interim = { ...status, state: 'pending' as const, description: settling?.interim ?? '' };
    return { inMs: 0, number: 1, status: unsettledMs > 0 ? interim : status };
  }
  if (posted.state === state || state === 'pending' || posted.posts >= MAX_POSTS) return undefined;
  const lastsMs = isDecided ? 0 : (MIN_DURATION_MS[posted.posts] ?? 0) - wantedForMs;
  return { inMs: Math.max(0, unsettledMs, lastsMs), number: posted.posts + 1, status };
}
