import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutSpec, RolloutStatus } from '../../shared/api/rollout.ts';
import {
  ANY,
  entryOf,
  isInProgress,
  isSame,
  parseReleaseName,
  type Release,
  type ReleaseName,
  type ReportedRelease,
} from '../../shared/domain/rollout/releases.ts';
import { waveOf } from '../../shared/domain/rollout/waves.ts';
import { currentWave } from './admission.ts';
import type { Facts } from './facts.ts';
import { isPreviewed, lastReportAt, type PreviewedGateway, previewOf, previewsOf } from './preview.ts';
import type { RolloutInput } from './rollout-input.ts';

/** Takes the place of digests if an approval applies to every change. */
export const EVERY_CHANGE = 'all';
/** Characters of a digest that are kept. */
const DIGEST_LENGTH = 16;

/** Returns what a wave of a release needs before it can begin. Users can approve it before a window opens. */
export function waitBefore(
  wave: number,
  release: Release,
  { rollout, input }: Pick<Facts, 'rollout' | 'input'>,
): 'approval' | 'window' | undefined {
  const { spec, window } = input;
  const isApproved = spec.waves?.[wave]?.approval !== true || coversAll(release, rollout, input);
  if (!isApproved) return 'approval';
  return window.isOpen ? undefined : 'window';
}

/**
 * Whether a release is approved with all changes that need it. Gateways of other waves can't hold it with the changes
 * that they report. Without a preview, for example because previews were turned off, the changes can be any.
 */
function coversAll(release: Release, rollout: RolloutStatus, input: RolloutInput): boolean {
  if (!isApprovalOf(rollout, release)) return false;
  const known = rollout.handled?.approvedDigests;
  if (known && isEvery(known)) return true;
  // No gateway gets it before its preview is over.
  if (!isSame(release, rollout) && !isPreviewed(release, rollout, input)) return true;
  if (!known || !previewOf(release, rollout)) return false;
  return digestsOf(release, rollout, input).inApprovalWaves.every((digest) => known.includes(digest));
}

/** Whether the status shows no preview of the approved release, and won't, so that a user can only approve the commit. */
export function showsNoChanges(rollout: RolloutStatus, { previewMs }: RolloutInput): boolean {
  const { preview, phase } = rollout;
  if (preview && isApprovalOf(rollout, preview)) return false;
  return previewMs === 0 || (isInProgress(rollout) && phase !== 'Previewing' && isApprovalOf(rollout, rollout));
}

/**
 * Notes the changes at the end of a preview, and those that an approval applies to: the same ones, which users have seen
 * even if their gateways have the release by now, and the ones that gateways report at present. If no gateway has reported
 * yet, the approval waits for the first report, but not longer than a preview can take.
 */
export function withApproval(rollout: RolloutStatus, release: Release | undefined, input: RolloutInput): RolloutStatus {
  const { handled } = rollout;
  const preview = release && previewOf(release, rollout);
  if (!preview?.endedAt) return rollout;
  const isApproving = isUnrecorded(preview, rollout);
  if (preview.digests && !isApproving) return rollout;
  const current = digestsOf(preview, rollout, input);
  const { digests = bounded(current) } = preview;
  const ended = { ...rollout, preview: { ...preview, digests } };
  const hasReports = preview.reported > 0 || digests.length > 0;
  const isSilent = !hasReports && previewsOf(preview, rollout, input.gateways).length === 0;
  const canReport = input.gateways.some(({ supportsPreviews = true }) => supportsPreviews);
  const isEarly = isSilent && canReport && input.now < lastReportAt(preview, input);
  if (!handled || !isApproving || isEarly) return ended;
  // Without any report, the user could only approve the commit.
  const isOfAll = isSilent || isEvery(digests);
  const approvedDigests = isOfAll ? [EVERY_CHANGE] : bounded({ ...current, all: [...digests, ...current.all] });
  return { ...ended, handled: { ...handled, approvedDigests } };
}

/** Whether a release is approved, but not yet which changes of it. */
const isUnrecorded = (release: ReleaseName, rollout: RolloutStatus): boolean =>
  !rollout.handled?.approvedDigests && isApprovalOf(rollout, release);

const isEvery = (digests: readonly string[]): boolean => digests.length === 1 && digests[0] === EVERY_CHANGE;

/** Different changes, shortened. */
interface Digests {
  /** Those of gateways in waves that wait, or will wait, for the approval. */
  inApprovalWaves: string[];
  /** Those of paused gateways come last. */
  all: string[];
}

/**
 * Returns the digests that fit into the status. If not even those in approval waves do, an approval is of every change.
 */
function bounded({ inApprovalWaves, all }: Digests): string[] {
  const max = BOUNDS.approvedDigests;
  return inApprovalWaves.length > max
    ? [EVERY_CHANGE]
    : [...new Set([...inApprovalWaves, ...all])].slice(0, max).sort();
}

/** Returns the changes that gateways report for a release. Paused ones don't wait, but the user sees their changes. */
function digestsOf(release: ReleaseName, rollout: RolloutStatus, { gateways, spec }: RolloutInput): Digests {
  const { admission } = rollout;
  const hasBegun = isInProgress(rollout) && isSame(release, rollout);
  const current = hasBegun ? (currentWave(rollout) ?? 0) : 0;
  const isInApprovalWave = ({ fits, key }: PreviewedGateway) => {
    const wave = waveOf(fits, key, admission);
    return wave >= current && spec.waves?.[wave]?.approval === true;
  };
  const changed = previewsOf(release, rollout, gateways).filter(({ preview }) => !preview.changesNothing);
  const active = changed.filter(({ isPaused }) => !isPaused);
  return {
    inApprovalWaves: distinctDigests(active.filter(isInApprovalWave)),
    all: [...distinctDigests(active), ...distinctDigests(changed)],
  };
}

const distinctDigests = (previewed: readonly PreviewedGateway[]): string[] =>
  [...new Set(previewed.map(({ preview }) => preview.digest.slice(0, DIGEST_LENGTH)))].sort();

/** Returns the releases in the status that a user can approve. */
function waitingIn(rollout: RolloutStatus): ReportedRelease[] {
  const { nextCommit, nextRevision, commit, revision } = rollout;
  const next = nextCommit === undefined ? [] : [{ commit: nextCommit, revision: nextRevision }];
  return isInProgress(rollout) ? [...next, { commit, revision }] : next;
}

/** Whether the approval is of this commit and revision. */
const isApprovalOf = ({ handled }: RolloutStatus, { commit, revision }: ReportedRelease): boolean =>
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
  return boundedReleases(entries);
}

/** Whether an approval of a release that waits has arrived. */
function hasTakenEffect(before: RolloutStatus, after: RolloutStatus): boolean {
  const { approve, approvedRevision } = after.handled ?? {};
  const isOld = before.handled?.approve === approve && before.handled?.approvedRevision === approvedRevision;
  if (isOld || approvedRevision === undefined) return false;
  return [...waitingIn(before), ...waitingIn(after)].some((release) => isApprovalOf(after, release));
}

/** Replaces the oldest releases by one entry, which keeps their revision if they have the same one. */
function boundedReleases(entries: string[]): string[] {
  const max = BOUNDS.shownReleases;
  if (entries.length <= max) return entries;
  const [revision, ...others] = new Set(entries.slice(max - 1).map((entry) => entry.split(' ')[1]));
  return [...entries.slice(0, max - 1), entryOf({ commit: ANY, revision: others.length > 0 ? ANY : revision })];
}
