import type { GatewaySyncSpec } from '../api/gateway-sync.ts';

type FollowedGit = Pick<GatewaySyncSpec['git'], 'ref' | 'semver'>;

/** What `spec.git` asks to follow: a ref, or a range of versions. The API server ensures that one of them exists. */
export const specRef = ({ ref, semver }: FollowedGit): string => ref ?? semver ?? '';

/** The name of the field that has it. */
export const specRefField = ({ semver }: FollowedGit): 'spec.git.ref' | 'spec.git.semver' =>
  semver === undefined ? 'spec.git.ref' : 'spec.git.semver';
