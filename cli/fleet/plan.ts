import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { DiscoveredGateway } from '../../shared/api/gateway-sync-status.ts';
import { FIRST_AGENT_WITH_PREVIEWS } from '../../shared/api/names.ts';
import type { RolloutPreview } from '../../shared/api/rollout.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { parseDuration } from '../../shared/domain/duration.ts';
import { withoutUndefined } from '../../shared/domain/objects.ts';
import { isAtLeast } from '../../shared/domain/version.ts';
import { allGateways } from './all-gateways.ts';
import { type Beyond, labelsIn, reportsOf } from './beyond.ts';
import { shortCommit } from './gateway.ts';
import { type Changes, type Fate, type PlanHead, type PlanView, planView } from './plan-view.ts';
import { effectOf } from './plan-words.ts';
import { isBackwards, placeInWaves } from './waves.ts';

/** Creates the plan of the release that `status.rollout.preview` names, from the reports of the agents. */
export function planOfPreview(gatewaySync: GatewaySync, preview: RolloutPreview, beyond: Beyond): PlanView {
  const { commit, ref } = preview;
  const head: PlanHead = { ...headOf(gatewaySync), ref, commit };
  if (!beyond.reports) return countsOnly(head, preview);
  const { namespace } = gatewaySync.metadata;
  const reportOf = reportsOf(namespace, beyond);
  const gateways = plannedGateways(gatewaySync, beyond);
  const placed = placeInWaves(gatewaySync, gateways, { reportOf, labelsOf: labelsIn(namespace, beyond) });
  const waves = gatewaySync.status?.rollout?.admission.map(({ wave }) => wave) ?? [];
  const waveOf = new Map(placed?.map(({ podName, wave }) => [podName, waves[wave]]));
  const fates = gateways.map((gateway) => {
    const { name, podName: pod, profile } = gateway;
    const report = reportOf(gateway);
    return {
      gateway: withoutUndefined({ gateway: name, pod, profile, wave: waveOf.get(pod) }),
      fate: fateOf(gateway, report, preview),
      everyCommit: report?.preview?.commit === commit ? report.preview.everyCommit : undefined,
    };
  });
  return planView(head, fates, placed && waves);
}

/** The release to plan, or the reason why there is none: `none` waits, or the plan of one is `unknown`. */
export type Candidate =
  | { kind: 'preview'; preview: RolloutPreview }
  | { kind: 'none'; says: string }
  | { kind: 'unknown'; says: string };

/** Returns the release that the agents preview. */
export function candidateOf({ spec, status }: GatewaySync): Candidate {
  const unknown = (says: string): Candidate => ({ kind: 'unknown', says });
  const { rollout, lastSyncCommit } = status ?? {};
  if (!spec.rollout) return unknown('previews require spec.rollout: query the agents with --ref');
  if (rollout?.preview) return { kind: 'preview', preview: rollout.preview };
  if (parseDuration(spec.rollout.previewTimeout ?? '') === 0)
    return unknown('previews are off, because spec.rollout.previewTimeout is 0s: query the agents with --ref');
  if (!rollout) return unknown('it has no rollout yet: see kubectl stoker status');
  const { phase, commit, nextCommit, stableCommit } = rollout;
  const missing = (waiting: string) =>
    unknown(`${shortCommit(waiting)} has no preview yet: try again in a few seconds`);
  if (nextCommit) return missing(nextCommit);
  if (isBackwards(rollout))
    return { kind: 'none', says: `no commit waits: the gateways were rolled back to ${shortCommit(stableCommit)}` };
  if (phase === 'Stopped')
    return unknown(`the rollout of ${shortCommit(commit)} stopped: ${rollout.message ?? 'see kubectl stoker status'}`);
  if (phase !== 'Complete') return missing(commit);
  if (lastSyncCommit !== undefined && lastSyncCommit !== commit) return missing(lastSyncCommit);
  return { kind: 'none', says: `no commit waits: the rollout of ${shortCommit(commit)} is complete` };
}

/** Checks whether all gateways have previewed a commit, or have it. */
export function isPreviewed({ status }: GatewaySync, commit: string): boolean {
  const { preview, phase, commit: current } = status?.rollout ?? {};
  if (preview?.commit === commit) return preview.reported >= preview.total;
  return phase === 'Complete' && current === commit;
}

/** Returns the plan of a resource without a commit that waits. */
export const emptyPlan = (gatewaySync: GatewaySync, says: string): PlanView => ({
  ...planView(headOf(gatewaySync), []),
  says,
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

/** Describes the effect of the previewed release, such as `would change 3 of 40 gateways (5 files in total)`. */
export const effectOfPreview = (preview: RolloutPreview): string => effectOf(countsIn(preview));

/** Returns all known gateways. Without permission to read pods, those that the status omits are found by their reports. */
function plannedGateways(gatewaySync: GatewaySync, beyond: Beyond): DiscoveredGateway[] {
  const { metadata, status } = gatewaySync;
  const { namespace, name: crName } = metadata;
  const known = allGateways(gatewaySync, beyond);
  if (beyond.pods || known.length >= (status?.gateways?.total ?? 0)) return known;
  const isKnown = new Set(known.map(({ podName }) => podName));
  const others = (beyond.reports ?? []).flatMap(({ metadata: { name: podName, ...place }, status: report }) => {
    if (place.namespace !== namespace || report?.crName !== crName || isKnown.has(podName)) return [];
    const { gateway: name = podName, state: syncStatus, profile } = report;
    return [withoutUndefined({ name, namespace, podName, syncStatus, profile })];
  });
  return [...known, ...others];
}

const SKIPPED: Partial<Record<DiscoveredGateway['syncStatus'], string>> = {
  Paused: 'paused',
  DryRun: 'in a dry run',
  MissingSidecar: 'no sidecar: recreate the pod',
};

function fateOf(
  { syncStatus }: DiscoveredGateway,
  report: SyncReportStatus | undefined,
  { commit, revision }: RolloutPreview,
): Fate {
  const skipped = SKIPPED[syncStatus];
  if (skipped) return { kind: 'skipped', why: skipped };
  if (!report) return { kind: 'silent', why: 'its agent has not reported yet' };
  if (report.commit === commit && report.revision === revision) return { kind: 'done' };
  const { preview, agentVersion, unchangedAt, message } = report;
  if (preview?.commit !== commit || preview.revision !== revision) {
    const isOld = !isAtLeast(agentVersion, FIRST_AGENT_WITH_PREVIEWS);
    if (isOld) return { kind: 'silent', why: `its agent (version ${agentVersion ?? 'unknown'}) has no previews` };
    return { kind: 'silent', why: message ? `no preview yet: ${message}` : 'no preview yet' };
  }
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
