import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { isSame, type Release, type ReleaseName, releaseOf, stableOf } from '../../shared/domain/rollout/releases.ts';
import { newestFirst } from '../../shared/domain/rollout/stored-release.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { ObservedRelease } from '../watch/observed-release.ts';
import { labelledIn } from './results.ts';

/** Returns the release that waits; undefined if there is none. */
function nextOf({ nextCommit, nextRevision, nextRelease: release }: RolloutStatus): Release | undefined {
  if (nextCommit === undefined || nextRevision === undefined) return undefined;
  return { commit: nextCommit, ref: nextCommit, revision: nextRevision, release };
}

/** Returns the releases that a rollout names. If the status was lost, the newest complete one is the stable one. */
function namedIn(rollout: RolloutStatus | undefined, releases: readonly ObservedRelease[]): Release[] {
  if (!rollout) return labelledIn(releases, 'Complete').slice(0, 1);
  const { preview } = rollout;
  return [releaseOf(rollout), nextOf(rollout), stableOf(rollout), preview && releaseOf(preview)].filter(
    (release) => release !== undefined,
  );
}

/** Whether a release is stored under its name. */
export const isStored = (release: Release, releases: readonly ObservedRelease[]): boolean =>
  releases.some((each) => each.release === release.release && isSame(each, release));

/**
 * Returns the name of the SyncRelease with a content: that of one that the rollout names or, if there is none, of the
 * newest one that was rejected or never complete, and that is newer than all complete ones. One that was complete and
 * isn't named is delivered again under a new number, so that releases are complete in the order of their numbers.
 * Undefined if there is none.
 */
export function nameOf(
  content: ReleaseName,
  rollout: RolloutStatus | undefined,
  releases: readonly ObservedRelease[],
): string | undefined {
  const named = namedIn(rollout, releases).find((each) => isSame(each, content) && isStored(each, releases));
  if (named) return named.release;
  const complete = releases.flatMap(({ result, number }) => (result === 'Complete' ? number : []));
  const last = Math.max(0, ...complete);
  const isUsable = ({ number, result, completedAt }: ObservedRelease) =>
    number > last && (result === 'Rejected' || (result === undefined && completedAt === undefined));
  return newestWith(content, releases.filter(isUsable));
}

/** Returns the name of the newest SyncRelease with a content; undefined if there is none. */
const newestWith = (content: ReleaseName, releases: readonly ObservedRelease[]): string | undefined =>
  newestFirst(releases).find((release) => isSame(release, content))?.release;

/** Replaces names of releases that no longer exist by those of new releases with the same content, if there are any. */
export function withStoredNames(rollout: RolloutStatus, releases: readonly ObservedRelease[]): RolloutStatus {
  const named = (release: Release): string | undefined => {
    if (isStored(release, releases)) return release.release;
    // One without a name is found by its content, whatever became of it.
    return nameOf(release, rollout, releases) ?? release.release ?? newestWith(release, releases);
  };
  const { preview } = rollout;
  const next = nextOf(rollout);
  return {
    ...rollout,
    release: named(releaseOf(rollout)),
    stableRelease: named(stableOf(rollout)),
    nextRelease: next && named(next),
    preview: preview && { ...preview, release: named(releaseOf(preview)) },
  };
}

/** Whether no stored release has the `spec.sync` of the stable release, and the spec has another one by now. */
export function isStableGone({ spec, status: { rollout } }: ObservedGatewaySync, releases: readonly ObservedRelease[]) {
  const stored = [spec.revision, ...releases.map(({ revision }) => revision)];
  return rollout !== undefined && !stored.includes(rollout.stableRevision);
}
