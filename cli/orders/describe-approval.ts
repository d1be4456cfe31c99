import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { RolloutPreview } from '../../shared/api/rollout.ts';
import { EVERY_CHANGE, shortDigest, UNKNOWN_CHANGES } from '../../shared/domain/rollout/approvals.ts';
import { hasUnfinished, isSame } from '../../shared/domain/rollout/releases.ts';
import type { Beyond } from '../fleet/beyond.ts';
import { hasPreviewsOff } from '../fleet/plan-candidate.ts';
import type { PlanView } from '../fleet/plan-view.ts';
import { effectOf, numberOf } from '../fleet/plan-words.ts';

/** The preview of a release, and its plan. */
interface ShownPlan {
  preview: RolloutPreview;
  view: PlanView;
}

/** Describes when an approved release is delivered, and which changes the approval covers. */
export function describeApproval(gatewaySync: GatewaySync, plan: ShownPlan | undefined, beyond: Beyond): string {
  const { spec } = gatewaySync;
  const hasWindows = (spec.rollout?.windows ?? []).length > 0;
  const start = `as soon as the previous waves are done${hasWindows ? ' and a window is open' : ''}.`;
  if (plan) {
    const effect = ` According to the previews, it ${effectOf(plan.view.counts)}.`;
    return start + effect + coverText(plan, reportsAbout(gatewaySync, beyond)) + stopText(gatewaySync, plan.view);
  }
  const why = hasPreviewsOff(spec) ? ', because previews are off' : '';
  return `${start} No gateway has a preview of it${why}: the approval covers every change of it.`;
}

/** Describes the differences between the changes that are shown and those that the approval covers. */
function coverText({ preview, view }: ShownPlan, reports: Reports | undefined): string {
  const { digests = [] } = preview;
  if (digests.includes(EVERY_CHANGE))
    return ' The gateways report too many different changes to tell them apart, so the approval covers every change of this release.';
  const { gateways, skipped, silent } = view.counts;
  const total = gateways - skipped;
  const earlier = reports ? earlierIn({ preview, view }, reports) : 0;
  const others = digests.includes(UNKNOWN_CHANGES) ? ', so the approval also covers any changes of the others' : '';
  const gap =
    silent > 0 || others ? ` Only ${total - silent} of ${total} gateways have reported their changes${others}.` : '';
  return earlier > 0 ? `${gap} It also covers ${numberOf(earlier, 'change')} that gateways reported earlier.` : gap;
}

type Reports = NonNullable<Beyond['reports']>;

const reportsAbout = ({ metadata }: GatewaySync, { reports }: Beyond): Reports | undefined =>
  reports?.filter(({ status }) => status?.crName === metadata.name);

/** Counts the changes that the plan doesn't show: the gateways have the release by now, were replaced, or report others. */
function earlierIn({ preview, view }: ShownPlan, reports: Reports): number {
  const failing = reports.flatMap(({ status }) =>
    status?.preview?.failure !== undefined && isSame(status.preview, preview) ? [status.preview] : [],
  );
  const shown = new Set([...view.groups, ...failing].map(({ digest }) => shortDigest(digest)));
  return (preview.digests ?? []).filter((digest) => digest !== UNKNOWN_CHANGES && !shown.has(digest)).length;
}

/** Warns of a release that can't be delivered while gateways have another unfinished one. */
function stopText({ spec, status }: GatewaySync, { commit, counts }: PlanView): string {
  const { rollout } = status ?? {};
  if (!rollout || counts.failing === 0 || spec.rollout?.previewFailures === 'Ignore') return '';
  if (commit === rollout.commit || rollout.phase === 'RollingBack' || !hasUnfinished(rollout)) return '';
  const { stableCommit } = rollout;
  const then = stableCommit === undefined ? 'keep their files' : `return to ${stableCommit}`;
  return ` So its rollout stops as soon as it begins, and all gateways ${then}.`;
}
