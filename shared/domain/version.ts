/** Checks whether a version such as `1.2.3` or `v1.2.3-rc.1` is at least another; false for an invalid version. */
export function isAtLeast(version: string | undefined, least: string): boolean {
  const [mine, other] = [version, least].map(numbersOf);
  if (!mine || !other) return false;
  for (const [index, number] of mine.entries()) {
    const difference = number - (other[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/** Treats a pre-release as its release, because it has the same features. */
function numbersOf(version = ''): number[] | undefined {
  const parts = /^v?(\d+)\.(\d+)\.(\d+)(?:[-+]|$)/.exec(version);
  return parts?.slice(1).map(Number);
}
