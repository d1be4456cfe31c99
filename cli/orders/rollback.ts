import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { Problem } from '../client/problem.ts';
import { shortCommit } from '../fleet/messages.ts';
import { gatewaysDo } from '../fleet/names.ts';
import { historyView, named, shortWay, type WayBack, wayBackTo } from '../fleet/orders.ts';
import { isStoppedEarly } from '../fleet/waves.ts';
import { effectOfAnnotation, type OrderEffect } from './order-effect.ts';
import { rolloutOf } from './rollout-of.ts';

/**
 * Returns the effect of a rollback to `previous`, or to a commit of the history by its first characters. Throws
 * `Problem`.
 */
export function effectOfRollback(gatewaySync: GatewaySync, to: string): OrderEffect {
  const rollout = rolloutOf(gatewaySync);
  const { commit, ref, phase } = rollout;
  const { value, isForward, ...target } = findWay(gatewaySync, to);
  if (isStoppedEarly(rollout) && target.commit === rollout.stableCommit)
    throw new Problem(`no gateway has ${named(commit, ref)}: all keep ${shortCommit(target.commit)}`, 'NothingToDo');
  const left =
    phase === 'RolledBack' || isStoppedEarly(rollout)
      ? { commit: rollout.stableCommit, ref: undefined }
      : { commit, ref };
  const way = `${isForward ? 'forward' : 'back'} from ${named(left.commit, left.ref)} to ${named(target.commit, target.ref)}`;
  const says = gatewaysDo(gatewaySync, {
    one: `rolls ${way}, at once`,
    many: `roll ${way}, all at once`,
    none: ` to roll ${way}`,
  });
  return effectOfAnnotation(gatewaySync, 'rollback', {
    value,
    says: `${says}. Waves, soak, approval, and windows do not apply.`,
    about: [left.commit, target.commit],
  });
}

function findWay(gatewaySync: GatewaySync, to: string): WayBack {
  const found = wayBackTo(gatewaySync, to);
  if (found.kind === 'way') return found.way;
  const entries = historyView(gatewaySync).filter(({ canGoBack }) => canGoBack);
  const list = entries
    .map(({ commit, ref, to: value }) => (ref === commit ? shortWay(value) : `${shortWay(value)} (${ref})`))
    .join(', ');
  const choose = list ? `choose one of ${list}` : 'it contains no other commit';
  if (found.kind === 'there')
    throw new Problem(`${shortCommit(to)} is already the commit of the gateways: ${choose}`, 'CommitNotFound');
  if (found.kind === 'several') throw new Problem(`several commits begin with ${to}: ${choose}`, 'CommitNotFound');
  if (to === 'previous') {
    const newer = list && `; for a newer one, use --to: ${list}`;
    throw new Problem(`the history has no earlier commit${newer}`, 'NothingToDo');
  }
  throw new Problem(`${to} not found in the history: ${choose}`, 'CommitNotFound');
}
