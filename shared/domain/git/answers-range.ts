import type { GatewaySyncStatus } from '../../api/gateway-sync-status.ts';

type FollowedRef = NonNullable<GatewaySyncStatus['target']>;

/** Whether what `spec.git.semver` follows is what was asked for: the tag, its commit, or the newest in the range. */
export function answersRange(
  asked: string,
  { ref: tag, range, tagPrefix = '' }: FollowedRef,
  commit: string | undefined,
): boolean {
  return asked === range || asked === commit || plainName(asked, tagPrefix) === plainName(tag, tagPrefix);
}

/** The name of a tag without a `v` after its prefix, which makes no difference. */
function plainName(ref: string, prefix: string): string {
  const name = ref.replace(/^refs\/tags\//, '');
  return name.startsWith(`${prefix}v`) ? `${prefix}${name.slice(prefix.length + 1)}` : name;
}
