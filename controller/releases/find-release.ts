import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { isSameRepository } from '../../shared/domain/git/repository.ts';
import {
  entryOf,
  isSame,
  nextOf,
  type Release,
  type ReleaseContent,
  releaseOf,
  stableOf,
} from '../../shared/domain/rollout/releases.ts';
import { newestFirst } from '../../shared/domain/rollout/stored-release.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { ObservedRelease } from '../watch/observed-release.ts';
import { labelledIn } from './results.ts';

/** Returns the releases that a rollout names. If the status was lost, the newest complete one is the stable one. */
function namedIn(rollout: RolloutStatus | undefined, releases: readonly ObservedRelease[]): Release[] {
  if (!rollout) return labelledIn(releases, 'Complete').slice(0, 1);
  const { preview } = rollout;
  return [releaseOf(rollout), nextOf(rollout), stableOf(rollout), preview && releaseOf(preview)].filter(
    (release) => release !== undefined,
  );
}

/**
 * Returns the releases that are found by their contents: those that the rollout names, and those of the repository.
 * Another resource may have had this name, and an approval of its releases doesn't apply to this one.
 */
export function usableIn(
  releases: readonly ObservedRelease[],
  { spec, status: { rollout } }: ObservedGatewaySync,
): ObservedRelease[] {
  const named = [rollout?.release, rollout?.nextRelease, rollout?.stableRelease, rollout?.preview?.release];
  return releases.filter(({ release, repo }) => named.includes(release) || isSameRepository(repo, spec.git.repo));
}

/** Whether a release is stored under its name. */
export const isStored = (release: Release, releases: readonly ObservedRelease[]): boolean =>
  releases.some((each) => each.release === release.release && isSame(each, release));

/**
 * Returns the name of the SyncRelease with a content: that of one that the rollout names or, if there is none, of the
 * newest one that is abandoned, or that no rollout has named yet, and that is newer than all complete ones. Any other
 * release is stored again under a new number, so that numbers follow the order of completion, and approvals of a release
 * that was replaced no longer apply. Undefined if there is none.
 */
export function nameOf(
  content: ReleaseContent,
  rollout: RolloutStatus | undefined,
  releases: readonly ObservedRelease[],
): string | undefined {
  const named = namedIn(rollout, releases).find((each) => isSame(each, content) && isStored(each, releases));
  if (named) return named.release;
  const complete = releases.flatMap(({ result, number }) => (result === 'Complete' ? number : []));
  const last = Math.max(0, ...complete);
  const isAbandoned = !rollout || rollout.givenUp?.includes(entryOf(content));
  const isUsable = ({ number, result, phase, completedAt }: ObservedRelease) =>
    number > last && (result === 'Rejected' ? isAbandoned : phase !== 'Superseded' && completedAt === undefined);
  return newestWith(content, releases.filter(isUsable));
}

/** Returns the name of the newest SyncRelease with a content; undefined if there is none. */
const newestWith = (content: ReleaseContent, releases: readonly ObservedRelease[]): string | undefined =>
  newestFirst(releases).find((release) => isSame(release, content))?.release;

/** Replaces names of releases that no longer exist by those of new releases with the same content, if there are any. */
export function withStoredNames(rollout: RolloutStatus, releases: readonly ObservedRelease[]): RolloutStatus {
  const named = (release: Release): string | undefined => {
    if (isStored(release, releases)) return release.release;
    // One without a name is found by its content, even if it failed.
    return nameOf(release, rollout, releases) ?? release.release ?? newestWith(release, releases);
  };
  const { preview } = rollout;
  const next = nextOf(rollout);
  const stable = stableOf(rollout);
  return {
    ...rollout,
    release: named(releaseOf(rollout)),
    stableRelease: stable && named(stable),
    nextRelease: next && named(next),
    preview: preview && { ...preview, release: named(releaseOf(preview)) },
  };
}

/** Whether no stored release has the `spec.sync` of the stable release, and the spec has another one by now. */
export function isStableGone({ spec, status: { rollout } }: ObservedGatewaySync, releases: readonly ObservedRelease[]) {
  const stored = [spec.revision, ...releases.map(({ revision }) => revision)];
  return rollout?.stableRevision !== undefined && !stored.includes(rollout.stableRevision);
}
