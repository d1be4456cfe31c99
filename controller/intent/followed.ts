import type { Reason } from '../../shared/api/reasons.ts';
import type { FoundRefs } from '../polling/query-result.ts';
import type { Wish } from './intents.ts';
import type { Outcomes } from './outcomes.ts';
import type { ResolvedRef } from './resolve-ref.ts';

/** The followed ref and its commit. */
export interface Followed {
  winner: Wish;
  resolved: ResolvedRef;
  /** The tag that was chosen for a range no longer exists, and no newer one does. */
  isDeleted?: boolean;
  /** Refs that the git server advertised; only with `spec.git.semver`. */
  found?: FoundRefs;
}

/** The followed ref, or the reason why there is none. */
export interface Settled extends Outcomes {
  followed: Followed | undefined;
  problem: { reason: Reason; message: string };
}
