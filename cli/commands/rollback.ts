import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { EXIT, Problem } from '../client/problem.ts';
import { shortCommit } from '../fleet/gateway.ts';
import { gatewaysDo } from '../fleet/names.ts';
import { historyView, named, type WayBack, wayBackTo } from '../fleet/orders.ts';
import { makeCommand } from './command.ts';
import { carryOut, orderArgs, type Plan, planOnce } from './order.ts';
import { rolloutOf } from './rollout-of.ts';

/** `kubectl gs rollback`: all gateways go back, at once. */
export const rollback = makeCommand({
  name: 'rollback',
  summary: 'Take all gateways back to a commit that was complete',
  details: [
    'Sets sync.io/rollback. All gateways go back at once, with the spec.sync of then: waves, soak, approval and windows do not count. What they leave is not tried again until kubectl gs retry, or until another commit comes.',
    'Without --to it is the commit before: while one is on its way or has stopped, the last complete one. It needs spec.rollout, the right to patch GatewaySyncs, and the verb approve if the chart value rollout.approverRole.enabled is set.',
  ],
  examples: [
    { line: 'rollback plant -n gateways', does: 'to the commit before' },
    { line: 'rollback plant --to 3f2a91bc', does: 'to one of kubectl gs history' },
  ],
  args: {
    to: { type: 'string', valueHint: 'C', description: 'A commit of the history; its first characters are enough.' },
    ...orderArgs,
  },
  run: ({ args, host }) => {
    const next = { command: `status ${args.name}`, does: 'shows who is back' };
    return carryOut({ args, host, plan: (gatewaySync) => planRollback(gatewaySync, args.to ?? 'previous'), next });
  },
});

function planRollback(gatewaySync: GatewaySync, to: string): Plan {
  const { status } = gatewaySync;
  const { commit, ref, phase } = rolloutOf(gatewaySync);
  const { value, ...target } = findWay(gatewaySync, to);
  const left =
    phase === 'RolledBack' ? { commit: status?.rollout?.stableCommit ?? commit, ref: undefined } : { commit, ref };
  const way = `back from ${named(left.commit, left.ref)} to ${named(target.commit, target.ref)}`;
  return planOnce(gatewaySync, 'rollback', {
    value,
    says: `${gatewaysDo(gatewaySync, { one: `goes ${way}, at once`, many: `go ${way}, all at once`, none: ` to take ${way}` })}. Waves, soak, approval and windows do not count.`,
    about: [left.commit, target.commit],
  });
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
