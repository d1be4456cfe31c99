import type { ObservedRelease } from '../../../../controller/watch/observed-release.ts';
import type { Release } from '../../../../shared/domain/rollout/releases.ts';

/** A stored release of the resource `app`, with the number as the end of its name. */
export const observedReleaseOf = (
  number: number,
  commit: string,
  more: Partial<ObservedRelease> = {},
): ObservedRelease => ({
  namespace: 'ns',
  release: `app-${number}`,
  uid: `app-${number}`,
  resourceVersion: '1',
  crName: 'app',
  repo: 'https://git.test/app.git',
  number,
  commit,
  ref: 'main',
  revision: 'r',
  ...more,
});

/** Decides, stores the releases that are missing, and decides again, as a reconcile does. */
export function withStored<T extends { toStore: Release[] }>(
  decide: (releases: ObservedRelease[]) => T,
  releases: ObservedRelease[] = [],
): T {
  const decision = decide(releases);
  if (decision.toStore.length === 0) return decision;
  const last = Math.max(0, ...releases.map(({ number }) => number));
  const stored = decision.toStore.map(({ commit, ref, revision }, index) =>
    observedReleaseOf(last + index + 1, commit, { ref, revision }),
  );
  return withStored(decide, [...releases, ...stored]);
}
