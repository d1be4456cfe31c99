import type { CommitStatusRecord } from '../../shared/api/gateway-sync-status.ts';
import type { Destination, Problem } from './destination.ts';
import type { CommitStatus } from './requests.ts';
import type { WantedStatus } from './wanted-status.ts';

/** What is to be said of a resource, and where. */
export interface WantedPost {
  destination: Destination;
  wanted: WantedStatus;
}

/** What is known of the status of a resource; `unknown` as long as no attempt has ended. */
export interface StatusNews {
  posted: CommitStatusRecord | undefined;
  problem: Problem | 'unknown' | undefined;
}

/** What is said of one commit at most; GitHub refuses more than 1,000 statuses of one name. */
const MAX_POSTS = 5;

/**
 * How long a change must last before it is posted, in milliseconds, by how much has been posted of the commit: nobody
 * waits for a result, and gateways that come and go must not use up what may be said.
 */
const LASTS_MS = [0, 0, 10_000, 60_000, 600_000];

/** The next post, when it is due, and its number among the statuses of its commit. */
export interface NextPost {
  inMs: number;
  number: number;
  status: CommitStatus;
}

/**
 * Returns the next post for a commit, whose status has been wanted for a time (ms), after the last post for it. A result
 * never goes back to pending, and another description of the same state is not posted.
 */
export function nextPost(
  posted: CommitStatusRecord | undefined,
  { commit, ref, state, description, settling, isDecided }: WantedStatus,
  wantedForMs: number,
): NextPost | undefined {
  const unsettledMs = (settling?.ms ?? 0) - wantedForMs;
  const status = { commit, ref, state, description };
  if (!posted) {
    const meanwhile = { ...status, state: 'pending' as const, description: settling?.meanwhile ?? '' };
    return { inMs: 0, number: 1, status: unsettledMs > 0 ? meanwhile : status };
  }
  if (posted.state === state || state === 'pending' || posted.posts >= MAX_POSTS) return undefined;
  const lastsMs = isDecided ? 0 : (LASTS_MS[posted.posts] ?? 0) - wantedForMs;
  return { inMs: Math.max(0, unsettledMs, lastsMs), number: posted.posts + 1, status };
}
