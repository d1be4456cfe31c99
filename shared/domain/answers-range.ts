import type { GatewaySyncStatus } from '../api/gateway-sync-status.ts';

type Target = NonNullable<GatewaySyncStatus['target']>;

/** Whether what `spec.git.semver` follows is what was asked for: the tag, its commit, or the newest in the range. */
export function answersRange(asked: string, { ref: tag, range }: Target, commit: string | undefined): boolean {
  return asked === range || asked === commit || plainName(asked) === plainName(tag);
}

/** The name of a tag without a leading `v`, which makes no difference. */
const plainName = (ref: string): string => ref.replace(/^refs\/tags\//, '').replace(/^v/, '');
