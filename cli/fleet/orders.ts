import type { RolloutStatus } from '../../shared/api/rollout.ts';
import {
  canRetry,
  isInProgress,
  nextOf,
  previewOf,
  type Release,
  releaseOf,
} from '../../shared/domain/rollout/releases.ts';
import { shortCommit } from './messages.ts';

/** Returns the release that waits or will wait for approval; undefined if none is being rolled out. */
export function toApprove(rollout: RolloutStatus): Release | undefined {
  const next = nextOf(rollout);
  if (!next) return isInProgress(rollout) ? releaseOf(rollout) : undefined;
  return { ...next, ref: previewOf(next, rollout)?.ref ?? next.ref };
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
