import type { HistoryEntry, RolloutPhase, RolloutStatus } from '../api/rollout.ts';

/** What can be rolled out: a commit, the ref that led to it, and the revision of `spec.sync` that belongs to it. */
export type Release = Pick<RolloutStatus, 'commit' | 'ref' | 'revision'>;

/** The release that a rollout is about. */
export const releaseOf = ({ commit, ref, revision }: Release): Release => ({ commit, ref, revision });

/** The release that was complete before, or still is. */
export const stableOf = ({ stableCommit, stableRef, stableRevision }: RolloutStatus): Release => ({
  commit: stableCommit,
  ref: stableRef,
  revision: stableRevision,
});

/** A release is the same whatever ref led to it. */
export const isSame = (a: Release, b: Release): boolean => a.commit === b.commit && a.revision === b.revision;

/** Phases in which a release was given up. */
export const GIVEN_UP: readonly RolloutPhase[] = ['Stopped', 'RollingBack', 'RolledBack'];

/**
 * What `sync.io/rollback` goes back to: the stable release while another is on its way, also by its commit; for
 * `previous` else the one before, or a commit of the history. Undefined where there is none.
 */
export function rollbackTarget(
  value: string,
  { rollout, history }: { rollout: RolloutStatus; history: readonly HistoryEntry[] },
): Release | undefined {
  const stable = stableOf(rollout);
  const isOther = !isSame(releaseOf(rollout), stable) && rollout.phase !== 'RolledBack';
  if (isOther && (value === 'previous' || value === stable.commit)) return stable;
  const earlier = history.filter((entry) => !isSame(entry, stable));
  return value === 'previous' ? earlier[0] : earlier.find(({ commit }) => commit === value);
}

/** Whether `sync.io/retry-rollout` with this commit has an effect: it was stopped, taken back, or given up before. */
export function canRetry(commit: string, { phase, commit: present, givenUp = [] }: RolloutStatus): boolean {
  const isPresent = GIVEN_UP.includes(phase) && commit === present;
  return isPresent || givenUp.some((release) => release.startsWith(`${commit} `));
}
