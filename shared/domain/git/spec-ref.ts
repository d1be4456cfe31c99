import type { GatewaySyncSpec } from '../../api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../api/gateway-sync-status.ts';

type FollowedGit = Pick<GatewaySyncSpec['git'], 'ref' | 'semver'>;
type RangeGit = Pick<GatewaySyncSpec['git'], 'semver' | 'tagPrefix'>;
type FollowedRef = NonNullable<GatewaySyncStatus['target']>;

/** What `spec.git` asks to follow: a ref, or a range of versions. The API server ensures that one of them exists. */
export const specRef = ({ ref, semver }: FollowedGit): string => ref ?? semver ?? '';

/** The name of the field that has it. */
export const specRefField = ({ semver }: FollowedGit): 'spec.git.ref' | 'spec.git.semver' =>
  semver === undefined ? 'spec.git.ref' : 'spec.git.semver';

type Observed = Pick<GatewaySyncStatus, 'observedRef' | 'observedSemver' | 'observedTagPrefix'>;

/** Whether a status is about the ref, or the range of versions and the prefix, in `spec.git`. */
export const isObservedRef = (
  { observedRef, observedSemver, observedTagPrefix }: Observed,
  { ref, semver, tagPrefix }: FollowedGit & RangeGit,
): boolean => observedRef === ref && observedSemver === semver && observedTagPrefix === tagPrefix;

/** Whether a target was chosen for the range of versions and the prefix in `spec.git`. */
export const isSameRange = ({ range, tagPrefix }: FollowedRef, git: RangeGit): boolean =>
  range === git.semver && tagPrefix === git.tagPrefix;
