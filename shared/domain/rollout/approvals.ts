import type { AppliedApproval, RolloutStatus } from '../../api/rollout.ts';
import { NO_CHANGES_SHOWN } from '../../api/sync-release.ts';
import { isInProgress, isSame, previewOf, type Release, type ReleaseContent } from './releases.ts';

/** Replaces digests if an approval applies to every change. */
export const EVERY_CHANGE = 'all';

/** Whether an approval is of a release. A name alone isn't enough: numbers begin again after all releases were lost. */
export const isApprovalOf = (approval: AppliedApproval, release: ReleaseContent & Pick<Release, 'release'>): boolean =>
  approval.release === release.release && isSame(approval, release);

/** Whether an approval applies to a wave. */
export const appliesTo = ({ wave }: { wave?: string | undefined }, name: string | undefined): boolean =>
  wave === undefined || wave === name;

/** Whether approved digests contain these, or stand for every change. */
export const covers = (approved: readonly string[], digests: readonly string[]): boolean =>
  approved.includes(EVERY_CHANGE) || digests.every((digest) => approved.includes(digest));

/** Replaces the digest of a gateway that reports no preview. */
export const UNKNOWN_CHANGES = 'unknown';

/** Shortens a digest, as in the status. */
export const shortDigest = (digest: string): string => digest.slice(0, 32);

/**
 * Returns the hash of the changes that the status shows for a release, which an approval names; undefined if it can't be
 * approved yet.
 */
export function changesToApprove(
  release: ReleaseContent,
  rollout: RolloutStatus,
  { hasPreviews }: { hasPreviews: boolean },
): string | undefined {
  const preview = previewOf(release, rollout);
  if (preview) return preview.changes;
  const isBegun = isInProgress(rollout) && rollout.phase !== 'Previewing' && isSame(release, rollout);
  return isBegun || !hasPreviews ? NO_CHANGES_SHOWN : undefined;
}
