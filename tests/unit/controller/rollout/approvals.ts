import type { ObservedRelease } from '../../../../controller/watch/observed-release.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { type Approval, NO_CHANGES_SHOWN } from '../../../../shared/api/sync-release.ts';
import { isInProgress, isSame, type Release, releaseOf } from '../../../../shared/domain/rollout/releases.ts';

/** A release in a status that a user can approve, as the user sees it. */
export interface Shown {
  release: string;
  commit: string;
  revision: string;
  /** The hash in the status. */
  changes: string;
  /** The changes; undefined if none are shown, so that an approval applies to every change. */
  seen: readonly string[] | undefined;
}

/** An entry of a release, with what its author saw. The controller reads only the fields of an approval. */
export type Entry = Approval & Pick<Shown, 'commit' | 'revision' | 'seen'>;

/** Returns what a user can approve: the release that waits, or otherwise the one in progress. */
export function shownIn(rollout: RolloutStatus | undefined, hasPreviews: boolean): Shown | undefined {
  const shown = rollout && releaseIn(rollout);
  if (!shown?.release) return undefined;
  const preview = rollout?.preview && isSame(rollout.preview, shown) ? rollout.preview : undefined;
  const isBegun = rollout?.nextCommit === undefined && rollout?.phase !== 'Previewing';
  const withoutPreview = !hasPreviews || isBegun ? NO_CHANGES_SHOWN : undefined;
  const changes = preview ? preview.changes : withoutPreview;
  if (changes === undefined) return undefined;
  const { release, commit, revision } = shown;
  return { release, commit, revision, changes, seen: changes === NO_CHANGES_SHOWN ? undefined : preview?.digests };
}

function releaseIn(rollout: RolloutStatus): Release | undefined {
  const { nextCommit: commit, nextRevision: revision = '', nextRelease: release } = rollout;
  if (commit !== undefined) return releaseOf({ commit, ref: commit, revision, release });
  return isInProgress(rollout) ? releaseOf(rollout) : undefined;
}

/** The approval of what was shown, for one wave, or for all. */
export const entryOf = ({ commit, revision, changes, seen }: Shown, wave?: string): Entry => ({
  ...(wave !== undefined && { wave }),
  changes,
  by: 'anna',
  at: '2026-11-22T12:00:00Z',
  commit,
  revision,
  seen,
});

/** The entries of a release. */
export const entriesIn = ({ approvals = [] }: Pick<ObservedRelease, 'approvals'>) => approvals as readonly Entry[];

/** Adds an entry to the release that was shown, if it still exists: a patch names its uid. */
export const approve = (releases: readonly ObservedRelease[], shown: Shown, wave?: string): ObservedRelease[] =>
  releases.map((each) =>
    each.release === shown.release && isSame(each, shown)
      ? { ...each, approvals: [...entriesIn(each), entryOf(shown, wave)] }
      : each,
  );
