import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutSpec, RolloutStatus } from '../../shared/api/rollout.ts';
import { entryOf, isInProgress, parseReleaseName, type ReportedRelease } from '../../shared/domain/rollout/releases.ts';

/** Takes the place of commits or revisions that no longer fit into `shownReleases`. */
const ANY = '*';
/** Any commit can have been shown with any revision. */
export const ANY_RELEASE = `${ANY} ${ANY}`;

/** Returns the releases in the status that a user can approve. */
function waitingIn(rollout: RolloutStatus): ReportedRelease[] {
  const { nextCommit, nextRevision, commit, revision } = rollout;
  const next = nextCommit === undefined ? [] : [{ commit: nextCommit, revision: nextRevision }];
  return isInProgress(rollout) ? [...next, { commit, revision }] : next;
}

/** Whether the approval is of this commit and revision. */
export const isApprovalOf = ({ handled }: RolloutStatus, { commit, revision }: ReportedRelease): boolean =>
  parseReleaseName(handled?.approve ?? '')?.commit === commit && handled?.approvedRevision === revision;

/**
 * Returns the revision that an approval is about; undefined if it has no effect. `COMMIT/REVISION` names it. A commit
 * alone is about the revision in the status when the approval was set, whatever the spec contains by now, unless the
 * user may have seen the commit with another one.
 */
export function approvedRevisionOf(approved: string, rollout: RolloutStatus): string | undefined {
  const { handled } = rollout;
  if (handled?.approve === approved) return handled.approvedRevision;
  const { commit, revision } = parseReleaseName(approved) ?? {};
  if (commit === undefined || revision !== undefined) return revision;
  const waiting = waitingIn(rollout).find((release) => release.commit === commit);
  return waiting && !hasSeveralRevisions(commit, rollout) ? waiting.revision : undefined;
}

/** Whether a user may have seen a commit with more than one revision, so that its approval must name the revision. */
export function hasSeveralRevisions(commit: string, rollout: RolloutStatus): boolean {
  const shown = [...(rollout.shownReleases ?? []), ...waitingIn(rollout).map(entryOf)].map((entry) => entry.split(' '));
  const revisions = shown.flatMap(([name, revision]) => (name === commit || name === ANY ? revision : []));
  return new Set(revisions).size > 1;
}

/** Returns the releases in the status that a user may have seen. One that stopped can wait again with another revision. */
function shownIn(rollout: RolloutStatus): ReportedRelease[] {
  const { phase, commit, revision } = rollout;
  return phase === 'Complete' ? waitingIn(rollout) : [...waitingIn(rollout), { commit, revision }];
}

/**
 * Returns the releases that users may have seen since the last approval that took effect, the newest first. Only an
 * approval removes them: other users can edit `spec.sync`, and can replace and complete releases that need none.
 */
export function shownReleases(before: RolloutStatus, after: RolloutStatus, { waves = [] }: RolloutSpec): string[] {
  const { shownReleases: known = [] } = before;
  if (!waves.some(({ approval }) => approval)) return known;
  const present = [...shownIn(after), ...shownIn(before)].map(entryOf);
  const entries = [...new Set([...present, ...(hasTakenEffect(before, after) ? [] : known)])];
  return bounded(entries);
}

/** Whether an approval of a release that waits has arrived. */
function hasTakenEffect(before: RolloutStatus, after: RolloutStatus): boolean {
  const { approve, approvedRevision } = after.handled ?? {};
  const isOld = before.handled?.approve === approve && before.handled?.approvedRevision === approvedRevision;
  if (isOld || approvedRevision === undefined) return false;
  return [...waitingIn(before), ...waitingIn(after)].some((release) => isApprovalOf(after, release));
}

/** Replaces the oldest releases by one entry, which keeps their revision if they have the same one. */
function bounded(entries: string[]): string[] {
  const max = BOUNDS.shownReleases;
  if (entries.length <= max) return entries;
  const revisions = new Set(entries.slice(max - 1).map((entry) => entry.split(' ')[1]));
  return [...entries.slice(0, max - 1), revisions.size === 1 ? `${ANY} ${[...revisions][0]}` : ANY_RELEASE];
}
