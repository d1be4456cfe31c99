import type { Wish } from './intents.ts';
import type { Outcomes } from './outcomes.ts';
import type { AdvertisedRefs, ResolvedRef } from './resolve-ref.ts';

/** What is followed, and the commit that it stands for. */
export interface Followed {
  winner: Wish;
  resolved: ResolvedRef;
  /** The tag that was chosen for a range no longer exists, and no newer one does. */
  isDeleted?: boolean;
  /** What the git server showed, with `spec.git.semver`. */
  refs?: AdvertisedRefs;
}

/** What is followed, or why nothing is. */
export interface Settled extends Outcomes {
  followed: Followed | undefined;
  problem: { reason: string; message: string };
}
