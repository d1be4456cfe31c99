import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { FIRST_AGENT_WITH_PREVIEWS } from '../../shared/api/names.ts';
import type { HistoryEntry, RolloutPreview, RolloutStatus } from '../../shared/api/rollout.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { parseDuration } from '../../shared/domain/duration.ts';
import { isDigest } from '../../shared/domain/is-digest.ts';
import { withoutUndefined } from '../../shared/domain/objects.ts';
import { canRetry, isInProgress, isOnRelease, stableOf } from '../../shared/domain/releases.ts';
import { isAtLeast } from '../../shared/domain/version.ts';
import { type Beyond, reportsOf } from './beyond.ts';
import { type ResourceView, resourceView } from './fleet.ts';
import type { GatewayView } from './gateway.ts';
import { shortCommit } from './messages.ts';
import { type Changes, type Fate, type PlanHead, type Planned, type PlanView, planView } from './plan-view.ts';
import { isBackwards } from './waves.ts';

/** Creates the plan of the release that `status.rollout.preview` names, from the reports of the agents. */
export function planOfPreview(
  gatewaySync: GatewaySync,
  preview: RolloutPreview,
  beyond: Beyond,
  { gateways, rollout }: ResourceView = resourceView(gatewaySync, beyond),
): PlanView {
  const { commit, ref, revision } = preview;
  const { stableCommit, stableRevision } = gatewaySync.status?.rollout ?? {};
  const isEdit = commit === stableCommit && revision !== stableRevision;
  const head: PlanHead = { ...headOf(gatewaySync), ref, commit, ...(isEdit && { isEdit }) };
  if (!beyond.reports) return countsOnly(head, preview);
  const reportOf = reportsOf(gatewaySync.metadata.namespace, beyond);
  const current = gatewaySync.status?.rollout;
  const planned = gateways.map(({ name, pod, profile, wave, status }) => {
    const report = reportOf({ podName: pod });
    return {
      gateway: withoutUndefined({ gateway: name, pod, profile, wave }),
      fate: fateOf(status, report, { preview, rollout: current }),
      everyCommit: report?.preview?.commit === commit ? report.preview.everyCommit : undefined,
    };
  });
  const arePlaced = gateways.every(({ wave }) => wave !== undefined);
  const accepted = areFailuresIgnored(planned, gatewaySync, preview) ? planned.map(skipFailure) : planned;
  return planView(head, accepted, arePlaced ? rollout?.waves.map(({ name }) => name) : undefined);
}

/**
 * Checks whether the rollout goes on although gateways have failures: they weren't ready before the preview. Failures
 * that the status doesn't count yet can still stop it.
 */
function areFailuresIgnored(
  planned: readonly Planned[],
  { spec, status }: GatewaySync,
  preview: RolloutPreview,
): boolean {
  const { rollout } = status ?? {};
  if (!rollout || !preview.endedAt || spec.rollout?.previewFailures === 'Ignore') return false;
  const failing = planned.filter(({ fate }) => fate.kind === 'failing').length;
  if (failing > preview.failing) return false;
  const { phase, commit, revision, waitsFor = '' } = rollout;
  if (commit === preview.commit && revision === preview.revision)
    return isInProgress(rollout) && phase !== 'Previewing';
  // While gateways still have another commit that is unfinished, the failures don't stop this one yet.
  return (phase === 'Complete' || phase === 'RolledBack') && ['Approval', 'Window'].includes(waitsFor);
}

function skipFailure({ fate, ...planned }: Planned): Planned {
  if (fate.kind !== 'failing') return { ...planned, fate };
  const why = `not ready before the preview, so the rollout ignores its failure: ${fate.why}`;
  return { ...planned, fate: { kind: 'skipped', why } };
}

/**
 * The release to plan, or the reason why there is none: no commit `none` waits, its preview is `missing` and can still
 * begin, or it is `unknown` and never begins.
 */
export type Candidate =
  | { kind: 'preview'; preview: RolloutPreview }
  /** `failure` is the reason why the last one stopped. */
  | { kind: 'none'; says: string; failure?: string | undefined }
  | { kind: 'missing'; says: string }
  | { kind: 'unknown'; says: string };

/** Returns the release that the agents preview; with `wanted`, only if it is this commit. */
export function candidateOf({ spec, status }: GatewaySync, wanted?: string): Candidate {
  if (!spec.rollout) return unknown('previews require spec.rollout: query the agents with --ref');
  const { rollout, lastSyncCommit, history = [] } = status ?? {};
  const { preview } = rollout ?? {};
  if (preview && (wanted ?? preview.commit) === preview.commit) return { kind: 'preview', preview };
  if (hasPreviewsOff(spec))
    return unknown('previews are off, because spec.rollout.previewTimeout is 0s: query the agents with --ref');
  if (!rollout) return { kind: 'missing', says: 'it has no rollout yet: see kubectl stoker status' };
  return wanted === undefined ? newestIn(rollout, lastSyncCommit) : specifiedIn(rollout, { wanted, history });
}

const unknown = (says: string): Candidate => ({ kind: 'unknown', says });
const none = (says: string, failure?: string): Candidate => ({ kind: 'none', says, failure });
const missing = (commit: string, rollout: RolloutStatus): Candidate => ({
  kind: 'missing',
  says: `${shortCommit(commit)} ${whyMissing(rollout)}`,
});

/** Explains why the newest commit has no preview. */
function newestIn(rollout: RolloutStatus, lastSyncCommit: string | undefined): Candidate {
  const { phase, commit, nextCommit, stableCommit } = rollout;
  if (nextCommit) return missing(nextCommit, rollout);
  if (isBackwards(rollout))
    return none(`no commit waits: the gateways were rolled back to ${shortCommit(stableCommit)}`);
  if (phase === 'Stopped') return none(`the rollout of ${shortCommit(commit)} stopped`, reasonOf(rollout));
  if (phase === 'Previewing') return missing(commit, rollout);
  if (phase !== 'Complete') return withoutPreview(commit);
  if (lastSyncCommit !== undefined && lastSyncCommit !== commit) return missing(lastSyncCommit, rollout);
  return none(`no commit waits: the rollout of ${shortCommit(commit)} is complete`);
}

/** Explains why a commit has no preview. If all gateways have had it, another one may be in progress. */
function specifiedIn(
  rollout: RolloutStatus,
  { wanted, history }: { wanted: string; history: readonly HistoryEntry[] },
): Candidate {
  const { phase, commit, nextCommit, givenUp = [] } = rollout;
  const name = shortCommit(wanted);
  const isReceived = [stableOf(rollout), ...history].some(
    (release) => release.commit === wanted && !givenUp.includes(`${release.commit} ${release.revision}`),
  );
  if (isReceived && commit === wanted && phase === 'Complete') return none(`the rollout of ${name} is complete`);
  if (isReceived) return none(`all gateways have already received ${name}`);
  if (canRetry(wanted, rollout)) return none(`${name} was stopped or rolled back`, reasonOf(rollout));
  if (wanted !== commit || phase === 'Previewing') return missing(wanted, rollout);
  return nextCommit ? unknown(`a newer commit replaced ${name}`) : withoutPreview(wanted);
}

const withoutPreview = (commit: string): Candidate =>
  unknown(`${shortCommit(commit)} is being rolled out without a preview`);

const reasonOf = ({ message, summary }: RolloutStatus): string => message ?? summary;

/** Checks whether a commit that a status named is replaced, so that its preview never begins. */
export const isReplaced = (commit: string, before: GatewaySync, now: GatewaySync): boolean =>
  names(before, commit) && !names(now, commit);

const names = ({ status: { lastSyncCommit, rollout } = {} }: GatewaySync, commit: string): boolean =>
  [lastSyncCommit, rollout?.commit, rollout?.nextCommit, rollout?.preview?.commit].includes(commit);

/** Checks whether `spec.rollout` turns previews off. */
export const hasPreviewsOff = ({ rollout }: GatewaySync['spec']): boolean =>
  parseDuration(rollout?.previewTimeout ?? '') === 0;

/** Explains why a commit has no preview, with the time when it begins if it is known. */
function whyMissing({ waitsFor, nextCommit, previewedAt }: RolloutStatus): string {
  if (waitsFor === 'Retry' && nextCommit !== undefined)
    return 'failed or was rolled back, and gets no preview before kubectl stoker retry';
  if (previewedAt === undefined) return 'has no preview yet';
  return `has no preview yet: previews begin at most once a minute on average, the next one from ${previewedAt}`;
}

/**
 * Checks whether a wait for the previews of a commit is over: all gateways have reported or enough time has passed, it
 * was abandoned, they have it or had it, or it gets no preview.
 */
export function isPreviewed(gatewaySync: GatewaySync, commit: string): boolean {
  const candidate = candidateOf(gatewaySync, commit);
  if (candidate.kind !== 'preview') return candidate.kind !== 'missing';
  const { phase, commit: current } = gatewaySync.status?.rollout ?? {};
  return isOver(candidate.preview) || (current === commit && phase !== 'Previewing');
}

const isOver = ({ endedAt, reported, total }: RolloutPreview): boolean => endedAt !== undefined || reported >= total;

/** Returns why the changes of a commit that waits can't be approved yet: the wait for its previews isn't over. */
export function whyUnpreviewed({ spec, status: { rollout } = {} }: GatewaySync, commit: string): string | undefined {
  if (!rollout || hasPreviewsOff(spec)) return undefined;
  const { preview, nextCommit, phase } = rollout;
  if (preview?.commit === commit)
    return isOver(preview)
      ? undefined
      : `is still being previewed: ${preview.reported} of ${preview.total} gateways have reported their changes`;
  return nextCommit === commit || phase === 'Previewing' ? whyMissing(rollout) : undefined;
}

/** Returns the plan of a resource without a commit that waits. */
export const emptyPlan = (
  gatewaySync: GatewaySync,
  { says, failure }: { says: string; failure?: string | undefined },
) => ({
  ...planView(headOf(gatewaySync), []),
  says,
  failing: failure === undefined ? [] : [{ why: failure, gateways: [] }],
});

const headOf = ({ metadata: { namespace, name } }: GatewaySync): PlanHead => ({ namespace, name });

/** Returns the plan for a user who can't read reports. */
const countsOnly = (head: PlanHead, preview: RolloutPreview): PlanView => ({
  ...planView(head, []),
  counts: countsIn(preview),
});

function countsIn({ total, reported, unchanged, failing, files }: RolloutPreview): PlanView['counts'] {
  const changed = Math.max(0, reported - unchanged - failing);
  const silent = Math.max(0, total - reported);
  return { gateways: total, changed, failing, silent, unchanged, done: 0, skipped: 0, files };
}

const SKIPPED: Partial<Record<GatewayView['status'], string>> = {
  Paused: 'paused',
  DryRun: 'in a dry run',
  MissingSidecar: 'no sidecar: recreate the pod',
};

function fateOf(
  status: GatewayView['status'],
  report: SyncReportStatus | undefined,
  { preview: { commit, revision }, rollout }: { preview: RolloutPreview; rollout: RolloutStatus | undefined },
): Fate {
  const isPlanned = report?.preview?.commit === commit && report.preview.revision === revision;
  const skipped = SKIPPED[status];
  if (skipped && !isPlanned) return { kind: 'skipped', why: skipped };
  if (!report) return { kind: 'silent', why: 'its agent has not reported yet' };
  if (report.commit === commit && report.revision === revision) return { kind: 'done' };
  const { preview, agentVersion, unchangedAt, message } = report;
  // The controller ignores an invalid digest as well.
  if (!isPlanned || !preview || !isDigest(preview.digest)) {
    const isOld = !isAtLeast(agentVersion, FIRST_AGENT_WITH_PREVIEWS);
    if (isOld) return { kind: 'silent', why: `its agent (version ${agentVersion ?? 'unknown'}) has no previews` };
    return { kind: 'silent', why: message ? `no preview yet: ${message}` : 'no preview yet' };
  }
  if (rollout && !isOnRelease(report, rollout))
    return { kind: 'silent', why: `no valid preview: it has ${shortCommit(report.commit ?? '')}` };
  if (preview.failure) return { kind: 'failing', why: preview.failure };
  return unchangedAt === commit ? { kind: 'unchanged' } : { kind: 'changed', changes: changesIn(preview, message) };
}

/** Without a file, the release has a problem that the current one has as well: the agent reports its message. */
function changesIn(preview: NonNullable<SyncReportStatus['preview']>, message: string | undefined): Changes {
  const { digest, added, modified, deleted, paths = [] } = preview;
  const files = added + modified + deleted;
  const problem = files === 0 ? message : undefined;
  return withoutUndefined({ digest, files, added, modified, deleted, paths, problem });
}
