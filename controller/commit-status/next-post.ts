import type { CommitStatusRecord } from '../../shared/api/gateway-sync-status.ts';
import type { Problem } from '../../shared/api/reasons.ts';
import type { CommitStatus, Destination } from './servers.ts';

/** A commit status, and its destination. */
export interface StatusPost {
  destination: Destination;
  status: CommitStatus;
}

/** State of a resource's commit status; `unknown` until an attempt has ended. */
export interface PostState {
  /** The last post. It can be for another commit. */
  posted: CommitStatusRecord | undefined;
  problem: Problem | 'unknown' | undefined;
}

/**
 * Time for which a result must last before it is posted (ms): a report doesn't name the commit with which an agent
 * failed, and the agent soon reports about the next one.
 */
const RESULT_LASTS_MS = 30_000;
/** The same after this number of posts for the commit, because GitHub rejects more than 1,000 statuses of one name. */
const FLAPPING = { posts: 5, lastsMs: 3_600_000 };
const CHECKING = 'checking whether the result lasts 30 s';

/** The next post, and the delay before it (ms). */
export interface NextPost {
  inMs: number;
  status: CommitStatus;
}

interface Durations {
  /** Time for which the status has been desired (ms). */
  desiredForMs: number;
  resultLastsMs?: number | undefined;
}

/**
 * Returns the next post for a commit after the last post for it. The first one is pending. A result never changes back,
 * and another description of the same state isn't posted.
 */
export function nextPost(
  posted: CommitStatusRecord | undefined,
  desired: CommitStatus,
  { desiredForMs, resultLastsMs = RESULT_LASTS_MS }: Durations,
): NextPost | undefined {
  const isResult = desired.state !== 'pending';
  if (!posted) return { inMs: 0, status: isResult ? { ...desired, state: 'pending', description: CHECKING } : desired };
  if (!isResult || posted.state === desired.state) return undefined;
  const lastsMs = posted.posts < FLAPPING.posts ? resultLastsMs : FLAPPING.lastsMs;
  return { inMs: Math.max(0, lastsMs - desiredForMs), status: desired };
}
