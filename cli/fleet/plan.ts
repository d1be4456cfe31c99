import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { FIRST_AGENT_WITH_PREVIEWS } from '../../shared/api/names.ts';
import type { RolloutPreview, RolloutStatus } from '../../shared/api/rollout.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { parseDuration } from '../../shared/domain/duration.ts';
import { withoutUndefined } from '../../shared/domain/objects.ts';
import { isOnRelease } from '../../shared/domain/releases.ts';
import { isAtLeast } from '../../shared/domain/version.ts';
import { type Beyond, reportsOf } from './beyond.ts';
import { type ResourceView, resourceView } from './fleet.ts';
import type { GatewayView } from './gateway.ts';
import { shortCommit } from './messages.ts';
import { type Changes, type Fate, type PlanHead, type PlanView, planView } from './plan-view.ts';
import { isBackwards } from './waves.ts';

/** Creates the plan of the release that `status.rollout.preview` names, from the reports of the agents. */
export function planOfPreview(
  gatewaySync: GatewaySync,
  preview: RolloutPreview,
  beyond: Beyond,
  { gateways, rollout }: ResourceView = resourceView(gatewaySync, beyond),
): PlanView {
  const { commit, ref } = preview;
  const head: PlanHead = { ...headOf(gatewaySync), ref, commit };
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
  return planView(head, planned, arePlaced ? rollout?.waves.map(({ name }) => name) : undefined);
}

/** The release to plan, or the reason why there is none: `none` waits, or the plan of one is `unknown`. */
export type Candidate =
  | { kind: 'preview'; preview: RolloutPreview }
  /** `failure` is the reason why the last one stopped. */
  | { kind: 'none'; says: string; failure?: string | undefined }
  | { kind: 'unknown'; says: string };

/** Returns the release that the agents preview; with `wanted`, only if it is this commit. */
export function candidateOf({ spec, status }: GatewaySync, wanted?: string): Candidate {
  const unknown = (says: string): Candidate => ({ kind: 'unknown', says });
  const { rollout, lastSyncCommit } = status ?? {};
  if (!spec.rollout) return unknown('previews require spec.rollout: query the agents with --ref');
  const { preview } = rollout ?? {};
  if (preview && (wanted ?? preview.commit) === preview.commit) return { kind: 'preview', preview };
  if (parseDuration(spec.rollout.previewTimeout ?? '') === 0)
    return unknown('previews are off, because spec.rollout.previewTimeout is 0s: query the agents with --ref');
  if (!rollout) return unknown('it has no rollout yet: see kubectl stoker status');
  const { phase, commit, nextCommit, stableCommit } = rollout;
  const missing = (waiting: string) =>
    unknown(`${shortCommit(waiting)} has no preview yet: try again in a few seconds`);
  const isNewest = wanted === undefined;
  if (isNewest && nextCommit) return missing(nextCommit);
  if (isBackwards(rollout))
    return { kind: 'none', says: `no commit waits: the gateways were rolled back to ${shortCommit(stableCommit)}` };
  if (phase === 'Stopped') {
    return {
      kind: 'none',
      says: `the rollout of ${shortCommit(commit)} stopped`,
      failure: rollout.message ?? rollout.summary,
    };
  }
  if (phase !== 'Complete')
    return isNewest ? missing(commit) : unknown(`a newer commit replaced ${shortCommit(commit)}`);
  if (isNewest && lastSyncCommit !== undefined && lastSyncCommit !== commit) return missing(lastSyncCommit);
  return {
    kind: 'none',
    says: `${isNewest ? 'no commit waits: ' : ''}the rollout of ${shortCommit(commit)} is complete`,
  };
}

/** Checks whether all gateways have previewed a commit, or the wait for their previews is over. */
export function isPreviewed({ status }: GatewaySync, commit: string): boolean {
  const { preview, phase, commit: current } = status?.rollout ?? {};
  const haveReported = preview?.commit === commit && preview.reported >= preview.total;
  return haveReported || (current === commit && phase !== 'Previewing');
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
  const skipped = SKIPPED[status];
  if (skipped) return { kind: 'skipped', why: skipped };
  if (!report) return { kind: 'silent', why: 'its agent has not reported yet' };
  if (report.commit === commit && report.revision === revision) return { kind: 'done' };
  const { preview, agentVersion, unchangedAt, message } = report;
  if (preview?.commit !== commit || preview.revision !== revision) {
    const isOld = !isAtLeast(agentVersion, FIRST_AGENT_WITH_PREVIEWS);
    if (isOld) return { kind: 'silent', why: `its agent (version ${agentVersion ?? 'unknown'}) has no previews` };
    return { kind: 'silent', why: message ? `no preview yet: ${message}` : 'no preview yet' };
  }
  if (rollout && !isOnRelease(report, rollout))
    return { kind: 'silent', why: `no valid preview: it has ${shortCommit(report.commit ?? '')}` };
  if (preview.failure) return { kind: 'failing', why: preview.failure };
  return unchangedAt === commit ? { kind: 'unchanged' } : { kind: 'changed', changes: changesIn(preview) };
}

function changesIn({
  digest,
  added,
  modified,
  deleted,
  paths = [],
}: NonNullable<SyncReportStatus['preview']>): Changes {
  return { digest, files: added + modified + deleted, added, modified, deleted, paths };
}
