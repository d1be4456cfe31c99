import type { RolloutPhase, RolloutPreview, RolloutStatus } from '../../api/rollout.ts';

/**
 * A release: a commit, the ref that resolved to it, its revision of `spec.sync`, and the name of its SyncRelease, if
 * there is one yet.
 */
export type Release = Pick<RolloutStatus, 'commit' | 'ref' | 'revision' | 'release'>;

/** The fields by which releases are compared, because a gateway reports only these. */
export type ReleaseContent = Pick<Release, 'commit' | 'revision'> & Partial<Pick<Release, 'ref'>>;

/** The release of a rollout. */
export const releaseOf = ({ commit, ref, revision, release }: Release): Release =>
  release === undefined ? { commit, ref, revision } : { commit, ref, revision, release };

type Stable = Pick<RolloutStatus, 'stableCommit' | 'stableRef' | 'stableRevision' | 'stableRelease'>;

/** The last complete release; undefined if it is unknown. */
export function stableOf({
  stableCommit: commit,
  stableRef: ref,
  stableRevision: revision,
  stableRelease: release,
}: Stable): Release | undefined {
  if (commit === undefined || ref === undefined || revision === undefined) return undefined;
  return releaseOf({ commit, ref, revision, release });
}

/** The release that waits; undefined if there is none. */
export function nextOf({ nextCommit, nextRevision, nextRelease: release }: RolloutStatus): Release | undefined {
  if (nextCommit === undefined || nextRevision === undefined) return undefined;
  return { commit: nextCommit, ref: nextCommit, revision: nextRevision, release };
}

/** The preview of a release; undefined if the status has that of another one, or none. */
export const previewOf = (release: ReleaseContent, { preview }: RolloutStatus): RolloutPreview | undefined =>
  preview && isSame(preview, release) ? preview : undefined;

/** A release as reported, which can be incomplete. */
export interface ReportedRelease {
  commit?: string | undefined;
  revision?: string | undefined;
}

/** Compares the contents of releases, ignoring the ref. */
export const isSame = (a: ReleaseContent | ReportedRelease, b: ReleaseContent | ReportedRelease): boolean =>
  a.commit === b.commit && a.revision === b.revision;

/** A release in the lists of the status. */
export const entryOf = ({ commit, revision }: ReportedRelease): string => `${commit} ${revision}`;

/** Checks whether an entry of the lists is about a commit, with any revision. */
export const isEntryOf = (entry: string, commit: string): boolean =>
  entry.startsWith(entryOf({ commit, revision: '' }));

/** Phases in which a release is rolled out. */
const IN_PROGRESS: readonly RolloutPhase[] = [
  'Previewing',
  'Progressing',
  'Soaking',
  'AwaitingApproval',
  'AwaitingWindow',
];

/** Checks whether a release is being rolled out. */
export const isInProgress = ({ phase }: Pick<RolloutStatus, 'phase'>): boolean => IN_PROGRESS.includes(phase);

/** Checks whether gateways may have the release of a rollout, which isn't complete and would be taken from them. */
export const hasUnfinished = ({ phase, admittedAt }: Pick<RolloutStatus, 'phase' | 'admittedAt'>): boolean =>
  phase === 'RollingBack' || (phase !== 'Complete' && phase !== 'RolledBack' && admittedAt !== undefined);

/**
 * Checks whether a gateway is on a release, or on none yet. A report without a revision can be of any, and if the
 * release is unknown, it can be the one that the gateway is on.
 */
export const isOn = ({ commit, revision }: ReportedRelease, release: ReportedRelease | undefined): boolean =>
  commit === undefined ||
  release === undefined ||
  (commit === release.commit && (revision ?? release.revision) === release.revision);

/**
 * Checks whether a gateway is on one of the two releases of a rollout, or on none yet. Its preview proves nothing if it
 * was made from another release.
 */
export const isOnRelease = (report: ReportedRelease, rollout: RolloutStatus): boolean =>
  isOn(report, stableOf(rollout)) || isOn(report, rollout);

/** Phases of an abandoned release. */
export const GIVEN_UP: readonly RolloutPhase[] = ['Stopped', 'RollingBack', 'RolledBack'];

/** A release that all gateways had. It is rejected if it no longer has the label Complete, as after a rollback. */
export interface CompletedRelease extends Release {
  isRejected: boolean;
}

/**
 * The target of `sync.io/rollback`, which is `previous` or the name of a SyncRelease; undefined if there is none.
 * `previous` is the stable release during another rollout, and otherwise the one before it that wasn't rejected.
 * `completed` are all releases that were complete, newest first. Another release with the same content is ignored.
 */
export function rollbackTarget(
  value: string,
  { rollout, completed }: { rollout: RolloutStatus; completed: readonly CompletedRelease[] },
): Release | undefined {
  const stable = stableOf(rollout);
  const isOther = stable && !isSame(releaseOf(rollout), stable) && rollout.phase !== 'RolledBack';
  if (isOther && (value === 'previous' || value === stable.release)) return stable;
  const isDifferent = (release: Release) => !stable || !isSame(release, stable);
  if (value !== 'previous') return completed.filter(isDifferent).find(({ release }) => release === value);
  const current = completed.findIndex(({ release }) => release === stable?.release);
  return completed.slice(current + 1).find((release) => !release.isRejected && isDifferent(release));
}

/** Checks whether `sync.io/retry-rollout` has an effect on this commit, which was stopped, rolled back, or abandoned. */
export function canRetry(commit: string, { phase, commit: present, givenUp = [] }: RolloutStatus): boolean {
  const isPresent = GIVEN_UP.includes(phase) && commit === present;
  return isPresent || givenUp.some((entry) => isEntryOf(entry, commit));
}
