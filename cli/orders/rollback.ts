import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { ROLLOUT_ANNOTATIONS } from '../../shared/api/names.ts';
import { EXIT, Problem } from '../client/problem.ts';
import { shortCommit } from '../fleet/gateway.ts';
import { addressOf, gatewaysOf } from '../fleet/names.ts';
import { historyView, named, type WayBack, wayBackTo } from '../fleet/orders.ts';
import type { Plan } from './plan.ts';
import { rolloutOf } from './rollout-of.ts';

/** Takes all gateways back: to `previous`, or to the commit of the history that begins so. Throws `Problem`. */
export function planRollback(gatewaySync: GatewaySync, to: string): Plan {
  const { metadata, status } = gatewaySync;
  const address = addressOf(gatewaySync);
  const { handled, commit, ref, phase } = rolloutOf(gatewaySync);
  const { value, ...target } = findWay(gatewaySync, to);
  const current = metadata.annotations?.[ROLLOUT_ANNOTATIONS.rollback];
  if (current === value && handled?.rollback !== value)
    return { kind: 'done', says: `${address} was told so already: the controller has not got to it yet.` };
  const left =
    phase === 'RolledBack' ? { commit: status?.rollout?.stableCommit ?? commit, ref: undefined } : { commit, ref };
  return {
    kind: 'change',
    says: `${address}: ${gatewaysOf(gatewaySync)} go back from ${named(left.commit, left.ref)} to ${named(target.commit, target.ref)}, all at once. Waves, soak, approval and windows do not count.`,
    change: { annotations: { [ROLLOUT_ANNOTATIONS.rollback]: value } },
    about: [left.commit, target.commit],
    ...(current === value && {
      before: {
        annotation: ROLLOUT_ANNOTATIONS.rollback,
        isGone: (now: GatewaySync) => now.status?.rollout?.handled?.rollback === undefined,
      },
    }),
  };
}

function findWay(gatewaySync: GatewaySync, to: string): WayBack {
  const found = wayBackTo(gatewaySync, to);
  if (found.kind === 'way') return found.way;
  const entries = historyView(gatewaySync).filter(({ canGoBack }) => canGoBack);
  const list = entries.map(({ commit, ref }) => named(commit, ref)).join(', ');
  const choose = list ? `choose one of ${list}` : 'no other commit was complete yet';
  if (found.kind === 'there')
    throw new Problem(`${shortCommit(to)} is what the gateways have, or go back to: ${choose}`, EXIT.usage);
  if (found.kind === 'several') throw new Problem(`several commits begin with ${to}: ${choose}`, EXIT.usage);
  if (to === 'previous') throw new Problem(`there is nothing to go back to: ${choose}`);
  throw new Problem(`${to} is no commit of the history: ${choose}`, EXIT.usage);
}
