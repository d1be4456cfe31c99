import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutPreview, RolloutStatus } from '../../shared/api/rollout.ts';
import {
  isInProgress,
  isOn,
  isOnRelease,
  isSame,
  previewOf,
  type Release,
  type ReleaseContent,
  stableOf,
} from '../../shared/domain/rollout/releases.ts';
import { waveOf } from '../../shared/domain/rollout/waves.ts';
import { unreadyBefore } from './judge-gateway.ts';
import type { ReportedPreview, RolloutGateway, RolloutInput } from './rollout-input.ts';
import { iso, unlessEmpty } from './transitions.ts';

/** A gateway that reports a preview. */
export type PreviewedGateway = RolloutGateway & { preview: ReportedPreview };

/** End of the longest wait for reports about a preview, or about the retry of one (ms since the epoch). */
export const lastReportAt = ({ startedAt }: { startedAt: string }, { previewMs }: RolloutInput): number =>
  Date.parse(startedAt) + previewMs;

/** Whether the wait for the preview of a release is over, or there is none. The waves are then judged by the reports. */
export const isPreviewed = (release: ReleaseContent, rollout: RolloutStatus, { previewMs }: RolloutInput): boolean =>
  previewMs === 0 || previewOf(release, rollout)?.endedAt !== undefined;

/**
 * Returns the previews that gateways report for a release. One that was made from another release than the one that the
 * gateway is assigned to proves nothing. Gateways that have noted the release still report it after the status names
 * another preview, or none.
 */
export function previewsOf(
  release: ReleaseContent,
  rollout: RolloutStatus,
  gateways: readonly RolloutGateway[],
): PreviewedGateway[] {
  const isNamed = previewOf(release, rollout) !== undefined;
  return gateways.filter((gateway): gateway is PreviewedGateway => {
    const { preview, report = {} } = gateway;
    if (!preview || !isSame(preview, release) || !isOnRelease(report, rollout)) return false;
    return isNamed || isSame(report, release);
  });
}

/**
 * Returns the gateways whose files the release in progress leaves unchanged, including paused ones; they need no wave.
 * After a stop, they still aren't verified. If the stable release is unknown, a gateway can have the files of a bad one, so
 * it is unchanged only if its agent noted that when it delivered this release.
 */
export function unchangedIn(rollout: RolloutStatus, gateways: readonly RolloutGateway[]): Set<RolloutGateway> {
  const isCurrent = isInProgress(rollout) || rollout.phase === 'Stopped';
  const previewed = isCurrent ? previewsOf(rollout, rollout, gateways) : [];
  const isKnown = ({ report }: RolloutGateway) => stableOf(rollout) !== undefined || isSame(report ?? {}, rollout);
  return new Set(previewed.filter((gateway) => gateway.preview.changesNothing && isKnown(gateway)));
}

/**
 * Returns the failures that keep the previewed release from all gateways. A gateway that the waves don't wait for must
 * not stop them.
 */
export function failuresIn(rollout: RolloutStatus, { spec, gateways }: RolloutInput): PreviewedGateway[] {
  const { preview: current } = rollout;
  if (!current || spec.previewFailures === 'Ignore') return [];
  const isUnready = unreadyBefore(current.startedAt);
  return previewsOf(current, rollout, gateways).filter(
    (gateway) => gateway.preview.failure !== undefined && !gateway.isPaused && !isUnready(gateway),
  );
}

/**
 * Starts, updates, or removes the preview of the release that is next. Once a gateway was admitted, the numbers stay as
 * they are, because gateways that get the release report no preview any longer.
 */
export function withPreview(
  rollout: RolloutStatus,
  candidate: Release | undefined,
  input: RolloutInput,
): RolloutStatus {
  const known = candidate && input.previewMs > 0 ? previewOf(candidate, rollout) : undefined;
  if (!candidate || input.previewMs === 0 || isPastPreview(candidate, rollout, known))
    return { ...rollout, preview: known && withLateChanges(known, rollout, input) };
  const times = known ? undefined : timesOf(candidate, rollout, input);
  const { startedAt, nextPreviewAt } = { ...rollout, ...known, ...times };
  const begun = { ...candidate, ...NO_REPORTS, ...known, startedAt };
  const preview = known || times ? countReports(begun, rollout, input) : undefined;
  return { ...rollout, preview, nextPreviewAt };
}

/** Adds waves with gateways that report changes after the first admission; they matter for the waves that follow. */
function withLateChanges(preview: RolloutPreview, rollout: RolloutStatus, { gateways }: RolloutInput): RolloutPreview {
  const changedWaves = changedIn(previewsOf(preview, rollout, gateways), rollout, preview.changedWaves);
  return changedWaves ? { ...preview, changedWaves } : preview;
}

/** Whether the waves of a release have begun, so that its preview no longer changes. */
function isPastPreview(release: Release, rollout: RolloutStatus, known: RolloutPreview | undefined): boolean {
  if (!isSame(release, rollout)) return false;
  const isStillPreviewed =
    rollout.phase === 'Previewing' || rollout.previewFailure !== undefined || known !== undefined;
  return rollout.admittedAt !== undefined || !isStillPreviewed;
}

const NO_REPORTS = { total: 0, reported: 0, unchanged: 0, failing: 0, files: 0 };

/** Counts what the gateways report, and notes when the wait is over: all have reported, or enough time has passed. */
function countReports(begun: RolloutPreview, rollout: RolloutStatus, input: RolloutInput): RolloutPreview {
  const { gateways, now } = input;
  const { changedWaves, endedAt } = begun;
  const previews = previewsOf(begun, { ...rollout, preview: begun }, gateways);
  const previewed = previews.filter(({ isPaused }) => !isPaused);
  const reporting = new Set<RolloutGateway>(previewed);
  const total = reporting.size + awaitedIn(begun, reporting, gateways).length;
  const isOver = reporting.size === total || now >= lastReportAt(begun, input);
  return {
    ...begun,
    endedAt: endedAt ?? (isOver ? iso(now) : undefined),
    total,
    reported: reporting.size,
    unchanged: previewed.filter(({ preview }) => preview.changesNothing).length,
    failing: previewed.filter(({ preview }) => preview.failure !== undefined).length,
    // The sum of fabricated reports must fit into the status.
    files: Math.min(
      previewed.reduce((sum, { preview }) => sum + preview.files, 0),
      BOUNDS.count,
    ),
    everyCommit: previewed.find(({ preview }) => preview.everyCommit !== undefined)?.preview.everyCommit,
    changedWaves: changedIn(previews, rollout, changedWaves),
  };
}

/** Returns the gateways whose preview hasn't arrived. Gateways that weren't ready, or have no agent, send none. */
function awaitedIn(
  { startedAt }: Pick<RolloutPreview, 'startedAt'>,
  reporting: ReadonlySet<RolloutGateway>,
  gateways: readonly RolloutGateway[],
): RolloutGateway[] {
  const isUnready = unreadyBefore(startedAt);
  return gateways.filter(
    (gateway) => gateway.report && !gateway.isPaused && !isUnready(gateway) && !reporting.has(gateway),
  );
}

/** Returns the gateways whose preview is awaited and hasn't arrived. */
export function missingIn(preview: RolloutPreview, rollout: RolloutStatus, gateways: readonly RolloutGateway[]) {
  return awaitedIn(preview, new Set(previewsOf(preview, rollout, gateways)), gateways);
}

/**
 * A pod with changes can be replaced while its release waits. Its wave still needs the approval and the window. Changes
 * compared with a release that was replaced don't count: without it, the gateway may be unchanged.
 */
function changedIn(
  previewed: readonly PreviewedGateway[],
  rollout: RolloutStatus,
  before: string[] = [],
): string[] | undefined {
  const { admission } = rollout;
  const isChanged = ({ report, preview }: PreviewedGateway) =>
    !preview.changesNothing && isOn(report ?? {}, stableOf(rollout));
  const changed = previewed.filter(isChanged);
  const names = changed.flatMap(({ fits, key }) => admission[waveOf(fits, key, admission)]?.wave ?? []);
  return unlessEmpty([...new Set([...before, ...names])].sort());
}

/**
 * Returns the times of another release's preview; undefined if it can't begin yet. A newer release that arrives during
 * the wait replaces the previous one without extending the wait. Otherwise, one preview begins per minute, and the next
 * minute's can begin early: a fix of a commit that its preview has stopped doesn't wait, but a series of commits does.
 */
function timesOf(release: Release, rollout: RolloutStatus, input: RolloutInput) {
  const { gateways, previewIntervalMs, now } = input;
  const { preview, nextPreviewAt } = rollout;
  const isRunning = preview && !preview.endedAt && now < lastReportAt(preview, input);
  if (isRunning) return { startedAt: preview.startedAt, nextPreviewAt };
  if (!preview && staleIn(release, rollout, input).length > 0) return undefined;
  const earliestAt = nextPreviewAt === undefined ? now - previewIntervalMs : Date.parse(nextPreviewAt);
  if (!gateways.some(({ report, isPaused }) => report && !isPaused)) return { startedAt: iso(now), nextPreviewAt };
  if (now < earliestAt) return undefined;
  return { startedAt: iso(now), nextPreviewAt: iso(Math.max(now, earliestAt + previewIntervalMs)) };
}

/**
 * Returns the gateways that still report the failure for which a release was stopped before it is retried. They remove
 * it when the status names no preview. The retry doesn't wait longer for them than for a preview.
 */
export function staleIn(release: ReleaseContent, rollout: RolloutStatus, input: RolloutInput): RolloutGateway[] {
  if (input.now >= lastReportAt(rollout, input)) return [];
  return input.gateways.filter(({ preview }) => preview?.failure !== undefined && isSame(preview, release));
}
