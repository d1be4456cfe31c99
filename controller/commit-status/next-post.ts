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

/**
 * What was last posted. What a host may have stored counts as a post and as pending, so that a result is posted again;
 * `isUnclear` where it was pending.
 */
type Posted = CommitStatusRecord & { isUnclear?: boolean };

/** What is said of one commit at most; GitHub refuses more than 1,000 statuses of one name. */
const MAX_POSTS = 5;
/** How often pending is sent to a host that may have stored it: the result needs the rest. */
const MAX_UNCLEAR_PENDING = 2;

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
 * What is to be posted next of what has been wanted for so many milliseconds, after what was posted last. What was once
 * said to be decided is never pending again, and other words for the same state are no news.
 */
export function nextPost(
  posted: Posted | undefined,
  { destination, wanted }: WantedPost,
  wantedForMs: number,
): NextPost | undefined {
  const { commit, state, description, settling, isDecided, ref } = wanted;
  const about = { commit, ...(ref !== undefined && { ref }) };
  const unsettledMs = (settling?.ms ?? 0) - wantedForMs;
  if (!posted || posted.commit !== commit || posted.target !== destination.target) {
    const meanwhile = { ...about, state: 'pending' as const, description: settling?.meanwhile ?? '' };
    return { inMs: 0, number: 1, status: unsettledMs > 0 ? meanwhile : { ...about, state, description } };
  }
  const isLost = posted.isUnclear === true && state === 'pending' && posted.posts < MAX_UNCLEAR_PENDING;
  const isSaid = posted.state === state || state === 'pending';
  if ((isSaid && !isLost) || posted.posts >= MAX_POSTS) return undefined;
  const lastsMs = isDecided ? 0 : (LASTS_MS[posted.posts] ?? 0) - wantedForMs;
  return {
    inMs: Math.max(0, unsettledMs, lastsMs),
    number: posted.posts + 1,
    status: { ...about, state, description },
  };
}
