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
 * The release that `sync.io/rollback` leads to; undefined if there is none. `previous` is the stable release while another
 * one is rolled out, else the entry of the history after the current one. A commit, or `COMMIT/REVISION` where the history
 * has it with several revisions of `spec.sync`, is any other entry, older or newer.
 */
export function rollbackTarget(
  value: string,
  { rollout, history }: { rollout: RolloutStatus; history: readonly HistoryEntry[] },
): Release | undefined {
  const stable = stableOf(rollout);
  const [commit, revision] = value.split('/');
  const isNamed = (release: Release) =>
    release.commit === commit && (revision === undefined || release.revision === revision);
  const isOther = !isSame(releaseOf(rollout), stable) && rollout.phase !== 'RolledBack';
  if (isOther && (value === 'previous' || isNamed(stable))) return stable;
  const current = history.findIndex((entry) => isSame(entry, stable));
  if (value === 'previous') return history[current + 1];
  return history.find((entry, index) => index !== current && isNamed(entry));
}

/** Whether `sync.io/retry-rollout` with this commit has an effect: it was stopped, taken back, or given up before. */
export function canRetry(commit: string, { phase, commit: present, givenUp = [] }: RolloutStatus): boolean {
  const isPresent = GIVEN_UP.includes(phase) && commit === present;
  return isPresent || givenUp.some((release) => release.startsWith(`${commit} `));
}
