import { parse } from 'semver';

/**
 * Checks whether a version such as `1.2.3` or `v1.2.3-rc.1` is at least another; false for an invalid version. A
 * pre-release counts as its release, because it has the same features.
 */
export function isAtLeast(version: string | undefined, least: string): boolean {
  const own = parse(version);
  const other = parse(least);
  return own !== null && other !== null && own.compareMain(other) >= 0;
}
