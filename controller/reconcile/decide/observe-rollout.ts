import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import { isCommitHash } from '../../../shared/domain/git/check-ref-name.ts';
import { isSameRepository } from '../../../shared/domain/git/repository.ts';
import { type Release, releaseOf } from '../../../shared/domain/rollout/releases.ts';
import { completedIn, newestFirst } from '../../../shared/domain/rollout/stored-release.ts';
import { isRevision } from '../../../shared/domain/rollout/sync-revision.ts';
import { fittingWaves, planOf, rolloutKey } from '../../../shared/domain/rollout/waves.ts';
import { parseDuration } from '../../../shared/domain/text/duration.ts';
import { isDigest } from '../../../shared/domain/text/is-digest.ts';
import { labelledIn } from '../../releases/results.ts';
import type { GatewayReport, ReportedPreview, RolloutInput } from '../../rollout/rollout-input.ts';
import { judgeWindows } from '../../rollout/windows.ts';
import type { ObservedPod } from '../../watch/observed-pod.ts';
import type { ObservedRelease } from '../../watch/observed-release.ts';
import type { ObservedReportStatus } from '../../watch/observed-report.ts';
import { isStandby } from './discover-gateways.ts';
import type { RolloutObservation } from './observation.ts';

const DEADLINE_MS = 15 * 60_000;
/** Default time to wait for previews (ms): a base, a time per gateway, and the maximum. */
const PREVIEW_MS = { base: 30_000, perGateway: 100, max: 180_000 };
const PREVIEW_INTERVAL_MS = 60_000;

/** Input of a rollout step. */
interface StepFacts {
  observation: RolloutObservation;
  /** The newest release, if it is stored. */
  newest: Release | undefined;
  /** Returns whether the spec configures a pause or a dry run for a profile. */
  pauseOf: (profile: string) => unknown;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Makes the input of a step. */
export function rolloutInput({ observation, newest, pauseOf, now }: StepFacts): RolloutInput {
  const { gatewaySync, pods, reportOf, releases } = observation;
  const { spec, status: before, orders = {} } = gatewaySync;
  const { rollout = {}, revision = '' } = spec;
  const number = before.rollout?.number;
  const { waves = [], progressDeadline = '', previewTimeout = '' } = rollout;
  // Another resource may have had this name.
  const isOfRepository = ({ repo }: ObservedRelease) => isSameRepository(repo, spec.git.repo);
  const lastComplete = newestFirst(releases).find(({ result }) => result === 'Complete');
  const livePods = pods.filter(({ live }) => live);
  const defaultPreviewMs = Math.min(PREVIEW_MS.base + PREVIEW_MS.perGateway * livePods.length, PREVIEW_MS.max);
  return {
    spec: rollout,
    wavesHash: planOf(waves),
    gateways: livePods.map((pod) => ({
      ...gatewayOf(pod, reportedBy(pod, reportOf(pod)?.status, { verifies: spec.gateway.verifies === true, number })),
      fits: fittingWaves(waves, new Map(Object.entries(pod.labels ?? {}))),
      isPaused: Boolean(pauseOf(pod.profile)) || isStandby(reportOf(pod)?.status),
    })),
    newest,
    delivered: contentOf(before, revision),
    completed: completedIn(releases),
    lastComplete: lastComplete && isOfRepository(lastComplete) ? releaseOf(lastComplete) : undefined,
    rejected: labelledIn(releases.filter(isOfRepository), 'Rejected'),
    approved: releases.filter(({ approvals }) => approvals !== undefined),
    rollback: orders.rollback,
    retry: orders.retry,
    window: judgeWindows(rollout.windows, now),
    previewIntervalMs: PREVIEW_INTERVAL_MS,
    previewMs: parseDuration(previewTimeout) ?? defaultPreviewMs,
    deadlineMs: parseDuration(progressDeadline) ?? DEADLINE_MS,
    soakMs: waves.map(({ soak = '' }) => parseDuration(soak) ?? 0),
    now,
  };
}

/** Returns the release that a status follows, with a revision; undefined if no commit is known. */
export function contentOf({ lastSyncCommit, lastSyncRef }: GatewaySyncStatus, revision: string): Release | undefined {
  return lastSyncCommit === undefined
    ? undefined
    : { commit: lastSyncCommit, ref: lastSyncRef ?? lastSyncCommit, revision };
}

function gatewayOf(pod: ObservedPod, reported: ReturnType<typeof reportedBy>) {
  const { name, createdAt = 0, notReadySince, readySince, crashedAt, restartedAt, runsSince } = pod;
  const times = { createdAt, notReadySince, readySince, crashedAt, restartedAt, runsSince };
  const waitsForAgent = pod.hasAgentRun === true && reported.report?.state !== 'healthy';
  const isUnstarted = pod.isUnstarted === true && !waitsForAgent;
  return { name, key: rolloutKey(pod.gatewayName, name), ...times, ...reported, isUnstarted };
}

/** What the agent reports. */
function reportedBy(
  { waiting }: ObservedPod,
  status: ObservedReportStatus | undefined,
  { verifies, number }: { verifies: boolean; number: number | undefined },
) {
  const problem = [status && messageOn(number, status), waiting].filter(Boolean).join('; ') || undefined;
  if (!status) return { report: undefined, problem };
  const { rollout, commit = '', revision = '' } = status;
  return {
    report: {
      rollout,
      // Agents refuse a rollout with any other value, so a fabricated report must never reach one.
      commit: isCommitHash(commit) ? commit : undefined,
      revision: isRevision(revision) ? revision : undefined,
      state: healthOf(status, verifies),
    },
    problem,
    preview: previewIn(status),
  };
}

/** Returns the preview that an agent reports. After it noted a commit without a change, its report has no preview. */
function previewIn({ preview, unchangedAt, revision = '' }: ObservedReportStatus): ReportedPreview | undefined {
  if (!preview)
    return unchangedAt ? { commit: unchangedAt, revision, digest: '', changesNothing: true, files: 0 } : undefined;
  // A fabricated digest must not look like an approval of every change.
  if (!isDigest(preview.digest)) return undefined;
  const { added, modified, deleted, failure, everyCommit } = preview;
  return {
    commit: preview.commit,
    revision: preview.revision,
    digest: preview.digest,
    changesNothing: unchangedAt === preview.commit && failure === undefined,
    files: added + modified + deleted,
    failure,
    everyCommit,
  };
}

/**
 * Returns the message of an agent about the current rollout or, if the report names none, about a problem of the stable
 * release. An outdated message must not seem to be about the commit in progress.
 */
function messageOn(number: number | undefined, { rollout, state, message }: ObservedReportStatus): string | undefined {
  const isAbout = rollout === undefined ? state !== 'Synced' : rollout === number;
  return isAbout ? message : undefined;
}

function healthOf({ state, verification, hasFailed }: ObservedReportStatus, verifies: boolean): GatewayReport['state'] {
  if (hasFailed || verification === 'Failed') return 'failed';
  const isVerified = verifies ? verification === 'Passed' || verification === 'Unchanged' : verification !== 'Running';
  return state === 'Synced' && isVerified ? 'healthy' : 'busy';
}
