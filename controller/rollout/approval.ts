import { createHash } from 'node:crypto';
import { BOUNDS } from '../../shared/api/bounds.ts';
import type { AppliedApproval, RolloutPreview, RolloutStatus } from '../../shared/api/rollout.ts';
import { NO_CHANGES_SHOWN } from '../../shared/api/sync-release.ts';
import {
  appliesTo,
  changesToApprove,
  covers,
  EVERY_CHANGE,
  isApprovalOf,
  shortDigest,
  UNKNOWN_CHANGES,
} from '../../shared/domain/rollout/approvals.ts';
import {
  isInProgress,
  isSame,
  previewOf,
  type Release,
  type ReleaseContent,
} from '../../shared/domain/rollout/releases.ts';
import { waveOf } from '../../shared/domain/rollout/waves.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { currentWave, isReleasedIn } from './admission.ts';
import type { Facts } from './facts.ts';
import { lastReportAt } from './preview.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';
import { begin, unlessEmpty } from './transitions.ts';

/** Returns what a wave of a release needs before it can begin. Users can approve it before a window opens. */
export function waitBefore(
  wave: number,
  release: Release,
  { rollout, input }: Pick<Facts, 'rollout' | 'input'>,
): 'approval' | 'window' | undefined {
  const { spec, window } = input;
  const isApproved = spec.waves?.[wave]?.approval !== true || isCovered(wave, release, { rollout, input });
  if (!isApproved) return 'approval';
  return window.isOpen ? undefined : 'window';
}

/**
 * Whether approvals of a release apply to all changes of a wave. Without a preview, only an approval of every change
 * applies.
 */
function isCovered(wave: number, release: Release, { rollout, input }: Pick<Facts, 'rollout' | 'input'>): boolean {
  const name = input.spec.waves?.[wave]?.name;
  const approvals = (rollout.approvals ?? []).filter((each) => isApprovalOf(each, release) && appliesTo(each, name));
  const approved = approvals.flatMap(({ digests }) => digests);
  const preview = previewOf(release, rollout);
  if (approvals.length === 0 || !preview) return approved.includes(EVERY_CHANGE);
  const members = input.gateways.filter((gateway) => waveIn(rollout, gateway) === wave);
  const next = members.filter((gateway) => !isReleasedIn(gateway, rollout.admission));
  if (!covers(approved, changesOf(next, release))) return false;
  const silent = silentIn(next, release);
  // A change that was reported isn't unknown after its report is gone.
  return (
    silent.length === 0 ||
    (silent.every((each) => isLate(each, preview, input)) && covers(approved, preview.digests ?? []))
  );
}

/** Returns the gateways without a preview that don't have a release either, so that their changes are unknown. */
const silentIn = (gateways: readonly RolloutGateway[], release: ReleaseContent): RolloutGateway[] =>
  gateways.filter(({ preview, report }) => ![preview, report].some((each) => each && isSame(each, release)));

/** Returns the gateways that fit a wave with approval, and can still report their changes. */
export function awaitedFor(release: Release, { rollout, input }: Pick<Facts, 'rollout' | 'input'>): RolloutGateway[] {
  const preview = previewOf(release, rollout);
  const { waves = [] } = input.spec;
  const isAsked = ({ fits }: RolloutGateway) => waves.some(({ approval }, wave) => approval && fits[wave]);
  return preview
    ? silentIn(input.gateways, release).filter((each) => isAsked(each) && !isLate(each, preview, input))
    : [];
}

/**
 * Returns the changes that a release makes to gateways, including paused ones, which get it when they are resumed. They
 * are compared with the files that a gateway has, whatever its release. Those of a gateway without a preview are unknown,
 * unless it has the release.
 */
function changesOf(gateways: readonly RolloutGateway[], release: ReleaseContent): string[] {
  const changed = gateways.flatMap(({ preview }) =>
    preview && isSame(preview, release) && !preview.changesNothing ? shortDigest(preview.digest) : [],
  );
  return [...new Set([...changed, ...(silentIn(gateways, release).length > 0 ? [UNKNOWN_CHANGES] : [])])];
}

/**
 * Notes the changes that gateways have reported since a preview was over, even if these gateways are gone, and their
 * hash, which an approval names. Until one has reported or `previewTimeout` has passed, nothing can be approved.
 */
export function withChanges(rollout: RolloutStatus, input: RolloutInput): RolloutStatus {
  const { preview } = rollout;
  if (!preview?.endedAt) return rollout;
  const digests = reportedDigests(preview, rollout, input);
  const isSilent = preview.changes === undefined && silentIn(input.gateways, preview).length === input.gateways.length;
  const isEarly = isSilent && input.gateways.length > 0 && input.now < lastReportAt(preview, input);
  return { ...rollout, preview: { ...preview, digests, changes: isEarly ? undefined : hashOf(digests) } };
}

/** The hash of changes, as in an approval: 32 hex digits. */
const hashOf = (digests: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(digests.toSorted())).digest('hex').slice(0, 32);

/**
 * Returns the changes that fit into the status, the earlier ones first. If not even those in waves with approval fit, an
 * approval covers every change. While such a wave has a gateway that has reported none in time, unknown ones are among
 * them, so that users can approve these as well.
 */
function reportedDigests(preview: RolloutPreview, rollout: RolloutStatus, input: RolloutInput): string[] {
  const known = knownOf(preview.digests ?? []);
  if (known.includes(EVERY_CHANGE)) return known;
  const gated = gatewaysToApprove(preview, rollout, input);
  const needed = knownOf(changesOf(gated, preview));
  const digests = [...new Set([...known, ...needed, ...knownOf(changesOf(input.gateways, preview))])];
  const fitting = digests.slice(0, BOUNDS.digests - 1);
  if (!covers(fitting, needed)) return [EVERY_CHANGE];
  const late = gated.filter((gateway) => isLate(gateway, preview, input));
  const isUnknown = changesOf(late, preview).includes(UNKNOWN_CHANGES);
  return [...fitting, ...(isUnknown ? [UNKNOWN_CHANGES] : [])].sort();
}

/** Returns the gateways whose waves need an approval of a release, and haven't ended. */
function gatewaysToApprove(preview: RolloutPreview, rollout: RolloutStatus, input: RolloutInput): RolloutGateway[] {
  const { waves = [] } = input.spec;
  if (!waves.some(({ approval }) => approval)) return [];
  const hasBegun = isInProgress(rollout) && isSame(preview, rollout);
  const current = hasBegun ? (currentWave(rollout) ?? 0) : 0;
  // When a release begins, gateways can belong to other waves.
  const { admission } = hasBegun ? rollout : begin(rollout, preview, input);
  return input.gateways.filter((gateway) => {
    const wave = waveIn({ admission }, gateway);
    return wave >= current && waves[wave]?.approval === true;
  });
}

const knownOf = (digests: readonly string[]): string[] => digests.filter((digest) => digest !== UNKNOWN_CHANGES);

/** Whether a gateway has had the time of a preview to report one. */
const isLate = ({ createdAt }: RolloutGateway, preview: RolloutPreview, input: RolloutInput) =>
  input.now >= Math.max(lastReportAt(preview, input), createdAt + input.previewMs);

const waveIn = ({ admission }: Pick<RolloutStatus, 'admission'>, { fits, key }: RolloutGateway): number =>
  waveOf(fits, key, admission);

/**
 * Notes the approvals of a release that are about the changes in the status, together with these changes: of the newer
 * one that waits, or otherwise of the one in progress, or of one that its preview stopped and that can be retried.
 */
export function withApprovals(
  rollout: RolloutStatus,
  candidate: Release | undefined,
  input: RolloutInput,
): RolloutStatus {
  const { approvals = [] } = rollout;
  const entries = candidate ? approvalsOf(candidate, rollout, input) : [];
  const noted = entries.reduce(withApproval, approvals);
  return { ...rollout, approvals: unlessEmpty(noted) };
}

/** Removes approvals of releases that the status no longer names. If too many are left, those of the next one stay. */
export function withoutOldApprovals(rollout: RolloutStatus): RolloutStatus {
  const { release, nextRelease, preview, approvals = [] } = rollout;
  const named = [...new Set([nextRelease, release, preview?.release])];
  const kept = named.flatMap((name) => approvals.filter((each) => each.release === name));
  return { ...rollout, approvals: unlessEmpty(kept.slice(0, BOUNDS.approvals)) };
}

/** Returns the approvals in the SyncRelease of a release. */
export const entriesOf = (release: Release, { approved = [] }: RolloutInput) =>
  approved.find((each) => each.release === release.release && isSame(each, release))?.approvals ?? [];

function approvalsOf(release: Release, rollout: RolloutStatus, input: RolloutInput): AppliedApproval[] {
  const name = release.release;
  const shown = shownFor(release, rollout, input);
  if (name === undefined || !shown) return [];
  const { changes, digests } = shown;
  const { commit, revision } = release;
  return entriesOf(release, input)
    .filter((each) => each.changes === changes)
    .map(({ wave, by }) => withoutUndefined({ release: name, commit, revision, wave, by, digests }));
}

/** Returns the changes of a release that a user can approve at present; undefined if there are none yet. */
function shownFor(release: Release, rollout: RolloutStatus, { previewMs }: RolloutInput) {
  const changes = changesToApprove(release, rollout, { hasPreviews: previewMs > 0 });
  if (changes === undefined) return undefined;
  const { digests = [] } = previewOf(release, rollout) ?? {};
  return { changes, digests: changes === NO_CHANGES_SHOWN ? [EVERY_CHANGE] : digests };
}

/** Adds an approval to those of the same release and wave, unless it adds nothing. */
function withApproval(approvals: readonly AppliedApproval[], added: AppliedApproval): AppliedApproval[] {
  const before = approvals.find((each) => isApprovalOf(each, added) && each.wave === added.wave);
  const known = before?.digests ?? [];
  if (before && covers(known, added.digests)) return [...approvals];
  const both = [...new Set([...known, ...added.digests])].sort();
  const digests = both.length > BOUNDS.digests ? added.digests : both;
  return [...approvals.filter((each) => each !== before), { ...added, digests }];
}
