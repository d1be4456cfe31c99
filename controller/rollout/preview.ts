import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { GIVEN_UP, isOnRelease, isSame, type Release, releaseOf } from '../../shared/domain/releases.ts';
import { waveOf } from '../../shared/domain/waves.ts';
import type { Admission } from './admission.ts';
import { skippedBefore } from './judge-gateway.ts';
import { iso, unlessEmpty } from './lifecycle.ts';
import type { PlannedChange, RolloutGateway, RolloutInput, RolloutState } from './rollout-input.ts';

/** Progress of a release's preview, computed from the reports. */
export interface PreviewProgress {
  /** Gateways that are waited for, and how many of them have reported. */
  total: number;
  reported: number;
  /** What the gateways report, except for paused ones. */
  plans: { gateway: RolloutGateway; plan: PlannedChange }[];
  /** Plans with a failure, except for those of gateways that weren't ready before. */
  failures: { gateway: RolloutGateway; plan: PlannedChange }[];
  /** The wait is over: all have reported, or enough time has passed. Waves then go by what was reported. */
  isOver: boolean;
  /** When the clock alone changes something (ms since the epoch). */
  changesAt: number | undefined;
}

/** Computes the progress of a release's preview. A release whose waves have begun isn't previewed any longer. */
export function judgePreview(release: Release, rollout: RolloutStatus, input: RolloutInput): PreviewProgress {
  const { gateways, previewMs, previewIntervalMs, now } = input;
  const { preview, previewedAt } = rollout;
  const begun = preview && isSame(preview, release) ? preview : undefined;
  const isUnready = skippedBefore(begun?.startedAt ?? iso(now));
  const counted = gateways.filter(({ isResting }) => !isResting);
  const plans = begun ? plansOf(release, rollout, counted) : [];
  const failures = plans.filter(({ gateway, plan }) => plan.failure !== undefined && !isUnready(gateway));
  const reporting = new Set(plans.map(({ gateway }) => gateway));
  const asked = counted.filter((gateway) => reporting.has(gateway) || (gateway.previews && !isUnready(gateway)));
  const isRolledOut = isSame(release, rollout) && rollout.phase !== 'Previewing';
  const endsAt = begun && Date.parse(begun.startedAt) + previewMs;
  const hasEnded = endsAt !== undefined && (reporting.size === asked.length || now >= endsAt);
  const isOver = previewMs === 0 || isRolledOut || asked.length === 0 || hasEnded;
  const startsAt = previewedAt === undefined ? undefined : Date.parse(previewedAt) + previewIntervalMs;
  const changesAt = begun ? endsAt : startsAt;
  return { total: asked.length, reported: reporting.size, plans, failures, isOver, changesAt };
}

function plansOf(release: Release, rollout: RolloutStatus, gateways: readonly RolloutGateway[]) {
  return gateways.flatMap((gateway) => {
    const plan = planOf(gateway, release, rollout);
    return plan ? { gateway, plan } : [];
  });
}

/**
 * Returns the change that a gateway reports for a release. A plan that was made from another release than the one that
 * the gateway is assigned to proves nothing.
 */
function planOf({ plan, report }: RolloutGateway, release: Release, rollout: RolloutStatus): PlannedChange | undefined {
  return plan && isSame(plan, release) && isOnRelease(report ?? {}, rollout) ? plan : undefined;
}

/**
 * Returns the gateways whose files the release of a rollout leaves unchanged; they need no wave. Paused ones don't count.
 * Gateways that have noted the release still report it after the status names another preview, or none.
 */
export function unchangedIn(rollout: RolloutStatus, gateways: readonly RolloutGateway[]): Set<RolloutGateway> {
  const { preview, phase, commit, revision } = rollout;
  if (phase === 'Complete' || GIVEN_UP.includes(phase)) return new Set();
  const isPreviewed = preview !== undefined && isSame(preview, rollout);
  const hasNoted = ({ report }: RolloutGateway) => report?.commit === commit && report.revision === revision;
  const counted = gateways.filter((gateway) => !gateway.isResting && (isPreviewed || hasNoted(gateway)));
  const plans = plansOf(releaseOf(rollout), rollout, counted);
  return new Set(plans.flatMap(({ gateway, plan }) => (plan.isUnchanged ? gateway : [])));
}

/**
 * Whether a gateway was unready before the preview of a rollout's release began, and reports no plan. One that became
 * unready later may be changed, like any other without a report.
 */
export function isUnknown(gateway: RolloutGateway, rollout: RolloutStatus): boolean {
  const { preview } = rollout;
  const isSkipped = preview !== undefined && skippedBefore(preview.startedAt)(gateway);
  return isSkipped && planOf(gateway, releaseOf(rollout), rollout) === undefined;
}

/** Failures that keep the release from all gateways. A gateway that the waves don't wait for must not stop them. */
export const failuresIn = ({ failures }: PreviewProgress, { spec }: RolloutInput) =>
  spec.previewFailures === 'Ignore' ? [] : failures;

/**
 * Starts, updates, or removes the preview of the release that is next. A newer release that arrives during the wait
 * replaces it without extending the wait; later ones are previewed at most once a minute.
 */
export function withPreview(state: RolloutState, candidate: Release | undefined, input: RolloutInput): RolloutState {
  const { rollout } = state;
  const { preview } = rollout;
  if (!candidate || input.previewMs === 0) return { ...state, rollout: { ...rollout, preview: undefined } };
  const isRolledOut = isSame(candidate, rollout) && rollout.phase !== 'Previewing';
  const isKnown = preview !== undefined && isSame(preview, candidate);
  // Gateways that get the release report no plan any longer, so the numbers stay as they were.
  if (isKnown && isRolledOut) return state;
  const startedAt = isKnown ? preview.startedAt : startOf(rollout, input);
  if (isRolledOut || startedAt === undefined) return { ...state, rollout: { ...rollout, preview: undefined } };
  const begun = { ...candidate, startedAt, total: 0, reported: 0, unchanged: 0, failing: 0, files: 0 };
  const { total, reported, plans } = judgePreview(candidate, { ...rollout, preview: begun }, input);
  const counts = {
    total,
    reported,
    unchanged: plans.filter(({ plan }) => plan.isUnchanged).length,
    failing: plans.filter(({ plan }) => plan.failure !== undefined).length,
    // The sum of fabricated reports must fit into the status.
    files: Math.min(
      plans.reduce((sum, { plan }) => sum + plan.files, 0),
      BOUNDS.count,
    ),
    everyCommit: plans.find(({ plan }) => plan.everyCommit !== undefined)?.plan.everyCommit,
    changedWaves: changedWaves(plans, rollout.admission, isKnown ? preview.changedWaves : undefined),
  };
  return { ...state, rollout: { ...rollout, previewedAt: startedAt, preview: { ...begun, ...counts } } };
}

/** A pod with changes can be replaced while its release waits. Its wave still needs the approval and the window. */
function changedWaves(plans: PreviewProgress['plans'], admission: Admission, before: string[] = []) {
  const changed = plans.filter(({ plan }) => !plan.isUnchanged);
  const names = changed.flatMap(({ gateway: { fits, key } }) => admission[waveOf(fits, key, admission)]?.wave ?? []);
  return unlessEmpty([...new Set([...before, ...names])].sort());
}

/** Returns the beginning of the wait for another release; undefined if it can't begin yet. */
function startOf(rollout: RolloutStatus, input: RolloutInput): string | undefined {
  const { preview, previewedAt } = rollout;
  if (preview && !judgePreview(preview, rollout, input).isOver) return preview.startedAt;
  const isSoon = previewedAt !== undefined && input.now < Date.parse(previewedAt) + input.previewIntervalMs;
  return isSoon ? undefined : iso(input.now);
}
