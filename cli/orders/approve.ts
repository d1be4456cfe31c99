import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { ROLLOUT_ANNOTATIONS } from '../../shared/api/names.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { Problem } from '../client/problem.ts';
import { addressOf } from '../fleet/names.ts';
import { toApprove } from '../fleet/orders.ts';
import type { Plan } from './plan.ts';
import { rolloutOf } from './rollout-of.ts';

/** Lets a commit into the waves that wait for it; with `wanted`, only that one. Throws `Problem`. */
export function planApproval(gatewaySync: GatewaySync, wanted: string | undefined): Plan {
  const { metadata, spec } = gatewaySync;
  const address = addressOf(gatewaySync);
  const rollout = rolloutOf(gatewaySync);
  const commit = toApprove(rollout);
  if (commit === undefined) throw new Problem(`nothing of ${address} is on its way: it is ${rollout.summary}`);
  if (wanted !== undefined && commit !== wanted)
    throw new Problem(`nothing was approved: not ${wanted} is on its way, but ${commit}`);
  const waves = (spec.rollout?.waves ?? []).filter(({ approval }) => approval).map(({ name }) => name);
  if (waves.length === 0) throw new Problem(`no wave of ${address} waits for approval`);
  const isApproved = metadata.annotations?.[ROLLOUT_ANNOTATIONS.approve] === commit;
  if (isApproved && isOutdated(rollout, commit))
    throw new Problem(
      `${commit} was approved for ${address} before spec.sync was edited: remove ${ROLLOUT_ANNOTATIONS.approve} first`,
    );
  if (isApproved) return { kind: 'done', says: `${commit} is approved already for ${address}.` };
  const ref = commit === rollout.commit && rollout.ref !== commit ? ` (${rollout.ref})` : '';
  return {
    kind: 'change',
    says: `${address}: ${commit}${ref} may have the ${waves.length === 1 ? 'wave' : 'waves'} ${waves.join(', ')} as soon as the ones before are done.`,
    change: { annotations: { [ROLLOUT_ANNOTATIONS.approve]: commit } },
    about: waves,
  };
}

/** Whether the approval that the controller noted is of another revision of `spec.sync` than the one on its way. */
function isOutdated({ handled = {}, waitsFor, nextCommit, nextRevision, revision }: RolloutStatus, commit: string) {
  const { approve, approvedRevision } = handled;
  const onItsWay = nextCommit === commit ? nextRevision : revision;
  const isOther = approvedRevision !== undefined && onItsWay !== undefined && approvedRevision !== onItsWay;
  return approve === commit && (waitsFor === 'Approval' || isOther);
}
