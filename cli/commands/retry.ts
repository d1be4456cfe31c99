import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { Problem } from '../client/problem.ts';
import { addressOf } from '../fleet/names.ts';
import { named, toRetry } from '../fleet/orders.ts';
import { makeCommand } from './command.ts';
import { carryOut, orderArgs, type Plan, planOnce } from './order.ts';
import { rolloutOf } from './rollout-of.ts';

/** `kubectl gs retry`: a commit that failed gets another try. */
export const retry = makeCommand({
  name: 'retry',
  summary: 'Try a commit again that was stopped or taken back',
  details: [
    'Sets sync.io/retry-rollout to that commit, in full. It starts at the first wave, with its windows and approvals: for a cause that was elsewhere, such as a database that was down.',
    'It needs spec.rollout, the right to patch GatewaySyncs, and the verb approve if the chart value rollout.approverRole.enabled is set.',
  ],
  examples: [{ line: 'retry plant -n gateways', does: 'once the cause is gone' }],
  args: orderArgs,
  run: ({ args, host }) =>
    carryOut({ args, host, plan: planRetry, next: { command: `status ${args.name}`, does: 'shows how far it is' } }),
});

function planRetry(gatewaySync: GatewaySync): Plan {
  const address = addressOf(gatewaySync);
  const rollout = rolloutOf(gatewaySync);
  const commit = toRetry(rollout);
  if (commit === undefined)
    throw new Problem(`nothing of ${address} was stopped or taken back: it is ${rollout.summary}`);
  const ref = commit === rollout.commit ? rollout.ref : undefined;
  const says = `${named(commit, ref)} starts again at the first wave.`;
  return planOnce(gatewaySync, 'retry', { value: commit, says, about: [] });
}
