import { createHash } from 'node:crypto';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { ROLLOUT_ANNOTATIONS } from '../../shared/api/names.ts';
import type { RolloutPreview, RolloutStatus } from '../../shared/api/rollout.ts';
import { hasUnfinished, isSame } from '../../shared/domain/rollout/releases.ts';
import { syncRevision } from '../../shared/domain/rollout/sync-revision.ts';
import { Problem } from '../client/problem.ts';
import type { Beyond } from '../fleet/beyond.ts';
import { addressOf } from '../fleet/names.ts';
import { toApprove } from '../fleet/orders.ts';
import { planOfPreview } from '../fleet/plan.ts';
import { hasPreviewsOff, whyUnpreviewed } from '../fleet/plan-candidate.ts';
import type { PlanView } from '../fleet/plan-view.ts';
import { effectOf } from '../fleet/plan-words.ts';
import type { OrderEffect } from './order-effect.ts';
import { rolloutOf } from './rollout-of.ts';

/** Returns the effect of an approval; with `wanted`, only of this commit. Throws `Problem`. */
export function effectOfApproval(
  gatewaySync: GatewaySync,
  wanted: string | undefined,
  beyond: Beyond = {},
): OrderEffect {
  const { metadata, spec } = gatewaySync;
  const address = addressOf(gatewaySync);
  const rollout = rolloutOf(gatewaySync);
  const release = toApprove(rollout);
  if (release === undefined)
    throw new Problem(`${address} has no commit to approve: its rollout is ${rollout.summary}`, 'NothingToDo');
  const { commit, revision } = release;
  if (wanted !== undefined && commit !== wanted)
    throw new Problem(`nothing was approved: the rollout is for ${commit}, not ${wanted}`, 'NothingToDo');
  const waves = (spec.rollout?.waves ?? []).filter(({ approval }) => approval).map(({ name }) => name);
  if (waves.length === 0) throw new Problem(`no wave of ${address} has approval: true`, 'NothingToDo');
  const value = `${commit}/${revision}`;
  const isApproved = metadata.annotations?.[ROLLOUT_ANNOTATIONS.approve] === value;
  const cause = isApproved ? whyOutdated(rollout, value) : undefined;
  const isOld = cause !== undefined;
  if (isApproved && !isOld) return { kind: 'done', says: `${commit} is already approved for ${address}.` };
  const why = whyUnpreviewed(gatewaySync, commit) ?? whyUnseen(gatewaySync, revision);
  if (why !== undefined) throw new Problem(`nothing was approved: ${commit} ${why}`, 'NotPreviewed');
  const ref = commit === rollout.commit && rollout.ref !== commit ? ` (${rollout.ref})` : '';
  const { preview } = rollout;
  const view = preview && isSame(preview, release) ? planOfPreview(gatewaySync, preview, beyond) : undefined;
  return {
    kind: 'change',
    says: `${address}: ${commit}${ref} goes to ${waves.length === 1 ? 'wave' : 'waves'} ${waves.join(', ')} as soon as the previous waves are done${spec.rollout?.windows?.length ? ' and a window is open' : ''}.${isOld ? ` The earlier approval predates ${cause}.` : ''}${preview && view ? effectIn(view, preview) + stopText(gatewaySync, view) : ` No gateway has a preview of it${hasPreviewsOff(spec) ? ', because previews are off' : ''}: its changes are unknown.`}`,
    change: { annotations: { [ROLLOUT_ANNOTATIONS.approve]: value } },
    about: [...waves, view ? fingerprintOf(view) : 'no plan'],
    ...(isOld && { before: { annotation: ROLLOUT_ANNOTATIONS.approve, isGone } }),
  };
}

const isGone = ({ status }: GatewaySync): boolean => status?.rollout?.handled?.approve === undefined;

function effectIn(view: PlanView, { reported }: RolloutPreview): string {
  return ` According to the previews, it ${effectOf(view.counts)}.${gapIn(view, reported)}`;
}

/** Warns of a commit that can't be delivered while gateways have another unfinished one. */
function stopText({ spec, status }: GatewaySync, { commit, counts }: PlanView): string {
  const { rollout } = status ?? {};
  if (!rollout || counts.failing === 0 || spec.rollout?.previewFailures === 'Ignore') return '';
  if (commit === rollout.commit || rollout.phase === 'RollingBack' || !hasUnfinished(rollout)) return '';
  return ` So its rollout stops as soon as it begins, and all gateways return to ${rollout.stableCommit}.`;
}

/** Describes which changes are unknown; `reported` is the number of gateways at the end of the preview. */
function gapIn({ counts, skipped }: PlanView, reported: number): string {
  const { total, missing } = coverageOf(counts);
  const isUnknown =
    reported + counts.changed + counts.failing + counts.unchanged === 0 && !skipped.some(({ isFailure }) => isFailure);
  if (isUnknown) return ' No gateway has reported its changes, so the approval covers every change of this commit.';
  return missing > 0 ? ` Only ${total - missing} of ${total} gateways have reported their changes.` : '';
}

const coverageOf = ({ gateways, skipped, silent }: PlanView['counts']) => ({
  total: gateways - skipped,
  missing: silent,
});

/**
 * Identifies the changes that a user approves: those that gateways report, and how many have not reported. The numbers
 * of gateways with the same changes aren't part of it, unless only the numbers are known.
 */
function fingerprintOf({ groups, failing, skipped, counts }: PlanView): string {
  const { total, missing } = coverageOf(counts);
  const changes = groups.map(({ gateways: _, ...each }) => JSON.stringify(each)).sort();
  const failures = [...failing, ...skipped.filter(({ isFailure }) => isFailure)].map(({ why }) => why).sort();
  const isKnown = groups.length + failures.length > 0;
  const parts = [
    changes,
    failures,
    missing > 0 && [total, missing],
    !isKnown && [counts.changed, counts.files, counts.failing],
  ];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** Returns why the status may not show what would be approved. */
function whyUnseen({ spec, status }: GatewaySync, revision: string): string | undefined {
  if (spec.paused)
    return 'waits while the resource is paused, so its preview may be outdated: run kubectl stoker resume';
  const { preview } = status?.rollout ?? {};
  const isCurrent = revision === syncRevision(spec.sync) && (preview?.revision ?? revision) === revision;
  return isCurrent
    ? undefined
    : 'is shown with another spec.sync than the current one; wait for its preview, or undo the edit';
}

/** Why an approval of the same commit doesn't apply. */
export const CAUSES = {
  previews: 'a change of spec.rollout.previewTimeout',
  changes: 'other changes that gateways reported',
};

/** Returns why the handled approval doesn't apply. */
function whyOutdated({ handled = {}, waitsFor, preview }: RolloutStatus, value: string) {
  const { approve, approvedDigests } = handled;
  if (approve !== value || waitsFor !== 'Approval') return undefined;
  if (!preview) return CAUSES.previews;
  // Without digests, the approval waits for the first report.
  return approvedDigests ? CAUSES.changes : undefined;
}
