import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { RolloutPreview, RolloutStatus } from '../../shared/api/rollout.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { hasUnfinished, isInProgress, isOnRelease } from '../../shared/domain/rollout/releases.ts';
import { isDigest } from '../../shared/domain/text/is-digest.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { type Beyond, reportsOf } from './beyond.ts';
import { type ResourceView, resourceView } from './fleet.ts';
import type { GatewayView } from './gateway.ts';
import { shortCommit } from './messages.ts';
import { type Changes, type Fate, type PlanHead, type Planned, type PlanView, planView } from './plan-view.ts';

/** Creates the plan of the release that `status.rollout.preview` names, from the reports of the agents. */
export function planOfPreview(
  gatewaySync: GatewaySync,
  preview: RolloutPreview,
  beyond: Beyond,
  { gateways, rollout }: ResourceView = resourceView(gatewaySync, beyond),
): PlanView {
  const { commit, ref, revision, release } = preview;
  const { stableCommit, stableRevision } = gatewaySync.status?.rollout ?? {};
  const isEdit = commit === stableCommit && revision !== stableRevision;
  const head: PlanHead = { ...headOf(gatewaySync), ref, commit, release, ...(isEdit && { isEdit }) };
  if (!beyond.reports) return countsOnly(head, preview);
  const reportOf = reportsOf(gatewaySync.metadata.namespace, beyond);
  const current = gatewaySync.status?.rollout;
  const isPaused = gatewaySync.spec.paused === true;
  const planned = gateways.map(({ name, pod, profile, wave, status }) => {
    const report = reportOf({ podName: pod });
    return {
      gateway: withoutUndefined({ gateway: name, pod, profile, wave }),
      fate: fateOf(status, report, { preview, rollout: current, isPaused }),
      everyCommit: report?.preview?.commit === commit ? report.preview.everyCommit : undefined,
    };
  });
  const arePlaced = gateways.every(({ wave }) => wave !== undefined);
  const accepted = areFailuresIgnored(planned, gatewaySync, preview) ? planned.map(skipFailure) : planned;
  return planView(head, accepted, arePlaced ? rollout?.waves.map(({ name }) => name) : undefined);
}

/**
 * Checks whether the rollout continues although gateways have failures: they weren't ready before the preview. Failures
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
  return !hasUnfinished(rollout) && ['Approval', 'Window'].includes(waitsFor);
}

function skipFailure({ fate, ...planned }: Planned): Planned {
  if (fate.kind !== 'failing') return { ...planned, fate };
  const why = `not ready before the preview, so the rollout ignores its failure: ${fate.why}`;
  return { ...planned, fate: { kind: 'skipped', why, isFailure: true } };
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

interface Circumstances {
  preview: RolloutPreview;
  rollout: RolloutStatus | undefined;
  /** Whether the whole resource is paused. Failures then count as soon as it is resumed. */
  isPaused: boolean;
}

function fateOf(
  status: GatewayView['status'],
  report: SyncReportStatus | undefined,
  { preview: { commit, revision }, rollout, isPaused }: Circumstances,
): Fate {
  const isPlanned = report?.preview?.commit === commit && report.preview.revision === revision;
  const skipped = SKIPPED[status];
  if (skipped && !isPlanned) return { kind: 'skipped', why: skipped };
  if (!report) return { kind: 'silent', why: 'its agent has not reported yet' };
  if (report.commit === commit && report.revision === revision) return { kind: 'done' };
  const { preview, unchangedAt, message } = report;
  // The controller ignores an invalid digest as well.
  if (!isPlanned || !preview || !isDigest(preview.digest))
    return { kind: 'silent', why: message ? `no preview yet: ${message}` : 'no preview yet' };
  if (rollout && !isOnRelease(report, rollout))
    return { kind: 'silent', why: `no valid preview: it has ${shortCommit(report.commit ?? '')}` };
  if (preview.failure)
    return skipped && !isPaused
      ? { kind: 'skipped', why: `${skipped}, so the rollout ignores its failure: ${preview.failure}`, isFailure: true }
      : { kind: 'failing', why: preview.failure };
  return unchangedAt === commit ? { kind: 'unchanged' } : { kind: 'changed', changes: changesIn(preview, message) };
}

/** Without a file, the release has a problem that the current one has as well: the agent reports its message. */
function changesIn(preview: NonNullable<SyncReportStatus['preview']>, message: string | undefined): Changes {
  const { digest, added, modified, deleted, paths = [] } = preview;
  const files = added + modified + deleted;
  const problem = files === 0 ? message : undefined;
  return withoutUndefined({ digest, files, added, modified, deleted, paths, problem });
}
