import { BOUNDS } from '../../shared/api/bounds.ts';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { RolloutPreview, RolloutStatus } from '../../shared/api/rollout.ts';
import {
  appliesTo,
  changesToApprove,
  covers,
  EVERY_CHANGE,
  isApprovalOf,
  shortDigest,
} from '../../shared/domain/rollout/approvals.ts';
import { isSame, previewOf, type Release } from '../../shared/domain/rollout/releases.ts';
import type { NewApproval } from '../client/approve-release.ts';
import { Problem } from '../client/problem.ts';
import type { Beyond } from '../fleet/beyond.ts';
import { addressOf } from '../fleet/names.ts';
import { toApprove } from '../fleet/orders.ts';
import { planOfPreview } from '../fleet/plan.ts';
import { hasPreviewsOff, whyUnpreviewed } from '../fleet/plan-candidate.ts';
import type { PlanView } from '../fleet/plan-view.ts';
import { describeApproval } from './describe-approval.ts';
import type { OrderEffect } from './order-effect.ts';
import { rolloutOf } from './rollout-of.ts';

/** The commit that is expected, and the wave that is approved; if omitted, any commit, and all waves with approval. */
interface Approving {
  commit?: string | undefined;
  wave?: string | undefined;
}

/** Returns the effect of an approval. Throws `Problem`. */
export function effectOfApproval(gatewaySync: GatewaySync, expected: Approving = {}, beyond: Beyond = {}): OrderEffect {
  const rollout = rolloutOf(gatewaySync);
  const release = releaseIn(gatewaySync, rollout, expected);
  const waves = wavesIn(gatewaySync, expected);
  const changes = changesToApprove(release, rollout, { hasPreviews: !hasPreviewsOff(gatewaySync.spec) });
  if (changes === undefined) throw unapproved(release.release, whyUnpreviewed(rollout, release));
  const { release: name, commit, revision } = release;
  const approval = { release: name, commit, revision, wave: expected.wave, changes };
  const target = `${waves.length === 1 ? 'wave' : 'waves'} ${waves.join(', ')}`;
  const label = `${addressOf(gatewaySync)}: ${labelOf(release)}`;
  const preview = previewOf(release, rollout);
  const approvers = approversOf(approval, preview, { gatewaySync, beyond });
  if (approvers.length > 0)
    return { kind: 'done', says: `${label} is already approved for ${target} by ${approvers.join(', ')}.` };
  const plan = preview && { preview, view: planOfPreview(gatewaySync, preview, beyond) };
  if (plan && hasUnnoted(plan.view, plan.preview))
    throw unapproved(release.release, 'has other changes by now, which the controller has not noted yet; try again');
  return {
    kind: 'approval',
    says: `${label} goes to ${target} ${describeApproval(gatewaySync, plan, beyond)}`,
    approval,
    about: [...waves, ...(plan ? subjectsOf(plan.view) : [])],
  };
}

const unapproved = (what: string, why: string) => new Problem(`nothing was approved: ${what} ${why}`, 'NotPreviewed');

type NamedRelease = Release & { release: string };

function releaseIn(gatewaySync: GatewaySync, rollout: RolloutStatus, { commit: wanted }: Approving): NamedRelease {
  const release = toApprove(rollout);
  if (release === undefined)
    throw new Problem(
      `${addressOf(gatewaySync)} has no release to approve: its rollout is ${rollout.summary}`,
      'NothingToDo',
    );
  const { commit, release: name } = release;
  if (wanted !== undefined && commit !== wanted)
    throw new Problem(`nothing was approved: the rollout is for ${commit}, not ${wanted}`, 'NothingToDo');
  if (name === undefined) throw unapproved(commit, 'has no SyncRelease yet: try again');
  return { ...release, release: name };
}

const labelOf = ({ release: name, commit, ref }: NamedRelease): string =>
  `${name} (${ref === commit ? commit : `${commit}, ${ref}`})`;

/** Returns the names of the waves that an approval is for. */
function wavesIn(gatewaySync: GatewaySync, { wave: wanted }: Approving): string[] {
  const { waves = [] } = gatewaySync.spec.rollout ?? {};
  const names = waves.filter(({ approval }) => approval).map(({ name }) => name);
  const address = addressOf(gatewaySync);
  if (names.length === 0) throw new Problem(`no wave of ${address} has approval: true`, 'NothingToDo');
  if (wanted === undefined) return names;
  if (names.includes(wanted)) return [wanted];
  throw new Problem(
    `${address} has no wave ${wanted} with approval: true: choose one of ${names.join(', ')}`,
    'InvalidArguments',
  );
}

/** Returns the users whose approvals already cover these changes, or will once the controller has noted them. */
function approversOf(
  approval: NewApproval,
  preview: RolloutPreview | undefined,
  { gatewaySync: { metadata, status }, beyond }: { gatewaySync: GatewaySync; beyond: Beyond },
): string[] {
  const { release, wave, changes } = approval;
  const stored = beyond.releases?.find(
    (each) => each.namespace === metadata.namespace && each.release === release && isSame(each, approval),
  );
  const equal = (stored?.approvals ?? []).filter((each) => appliesTo(each, wave) && each.changes === changes);
  const noted = (status?.rollout?.approvals ?? []).filter(
    (each) => isApprovalOf(each, approval) && appliesTo(each, wave),
  );
  const approved = noted.flatMap(({ digests }) => digests);
  const isCovered = covers(approved, preview?.digests ?? [EVERY_CHANGE]);
  return [...new Set([...equal, ...(isCovered ? noted : [])].map(({ by }) => by))];
}

/** Checks whether gateways report changes that an approval wouldn't be about, unless the status has no room for them. */
function hasUnnoted({ groups }: PlanView, { digests = [] }: RolloutPreview): boolean {
  if (digests.includes(EVERY_CHANGE) || digests.length >= BOUNDS.digests - 1) return false;
  return groups.some(({ digest }) => !digests.includes(shortDigest(digest)));
}

/** Returns the parts of a plan that a user confirms. The number of gateways isn't one: it changes all the time. */
function subjectsOf({ groups, failing, skipped }: PlanView): string[] {
  const changes = groups.map(({ gateways: _, ...each }) => JSON.stringify(each)).sort();
  const failures = [...failing, ...skipped.filter(({ isFailure }) => isFailure)].map(({ why }) => why).sort();
  return [...changes, ...failures];
}
