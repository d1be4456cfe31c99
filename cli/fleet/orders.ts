import type { RolloutStatus } from '../../shared/api/rollout.ts';
import {
  canRetry,
  isInProgress,
  isSame,
  type ReleaseContent,
  releaseOf,
} from '../../shared/domain/rollout/releases.ts';
import { shortCommit } from './messages.ts';

/** Returns the release that waits or will wait for approval; undefined if none is being rolled out. */
export function toApprove(rollout: RolloutStatus): (ReleaseContent & { release?: string | undefined }) | undefined {
  const { nextCommit, nextRevision = '', nextRelease, preview } = rollout;
  if (!nextCommit) return isInProgress(rollout) ? releaseOf(rollout) : undefined;
  const next = { commit: nextCommit, revision: nextRevision, release: nextRelease };
  return preview && isSame(preview, next) ? { ...next, ref: preview.ref } : next;
}

/** Returns the commit that was stopped or rolled back and can be retried, or undefined. */
export function toRetry(rollout: RolloutStatus): string | undefined {
  const { commit, nextCommit, givenUp: [first = ''] = [] } = rollout;
  const [given] = first.split(' ');
  return [commit, nextCommit, given].find((each) => each && canRetry(each, rollout));
}

/** Formats a commit with its ref: `c0ffee11 (v1.2.3)`. */
export const named = (commit: string, ref?: string | undefined): string =>
  `${shortCommit(commit)}${ref && ref !== commit ? ` (${ref})` : ''}`;
