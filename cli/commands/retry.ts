import { planRetry } from '../orders/retry.ts';
import { makeCommand } from './command.ts';
import { carryOut, orderArgs } from './order.ts';

/** `kubectl stoker retry`: a commit that failed gets another try. */
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
