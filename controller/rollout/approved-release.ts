import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { isInProgress } from '../../shared/domain/releases.ts';

/** A release that waits, or will wait, for approvals. */
interface Waiting {
  commit: string;
  revision: string | undefined;
}

/** Returns the releases in the status that a user can approve. */
function waitingIn(rollout: RolloutStatus): Waiting[] {
  const { nextCommit, nextRevision, commit, revision } = rollout;
  const next = nextCommit === undefined ? [] : [{ commit: nextCommit, revision: nextRevision }];
  return isInProgress(rollout) ? [...next, { commit, revision }] : next;
}

/**
 * Returns the revision that an approval is about; undefined if it has no effect. `COMMIT/REVISION` names it. A commit
 * alone is about the revision in the status when the approval was set, whatever the spec contains by now, unless the
 * user may have seen the commit with another one.
 */
export function approvedRevisionOf(approved: string, rollout: RolloutStatus): string | undefined {
  const [commit, revision, ...others] = approved.split('/');
  if (revision !== undefined) return others.length === 0 && revision !== '' ? revision : undefined;
  const { handled, severalRevisions = [] } = rollout;
  if (handled?.approve === approved) return handled.approvedRevision;
  if (severalRevisions.includes(approved)) return undefined;
  return waitingIn(rollout).find((release) => release.commit === commit)?.revision;
}

/** Returns the releases in the status that a user may have seen. One that stopped can wait again with another revision. */
function shownIn(rollout: RolloutStatus): Waiting[] {
  const { phase, commit, revision } = rollout;
  return phase === 'Complete' ? waitingIn(rollout) : [...waitingIn(rollout), { commit, revision }];
}

/**
 * Returns the commits that the status has shown with more than one revision since it began to show them. Their approval
 * must name the revision.
 */
export function severalRevisionsIn(before: RolloutStatus, after: RolloutStatus): string[] {
  const releases = [...shownIn(before), ...shownIn(after)];
  const commits = [...new Set(shownIn(after).map(({ commit }) => commit))];
  return commits.filter((commit) => {
    const revisions = new Set(releases.flatMap((release) => (release.commit === commit ? [release.revision] : [])));
    return revisions.size > 1 || before.severalRevisions?.includes(commit);
  });
}
