import { makeCommand } from '../command-support/command.ts';
import { carryOut, orderArgs } from '../command-support/order.ts';
import { effectOfRetry } from '../orders/retry.ts';

/** `kubectl stoker retry`: retries a failed commit. */
export const retry = makeCommand({
  name: 'retry',
  summary: 'Retry a commit that was stopped or rolled back',
  details: [
    'Sets the annotation sync.io/retry-rollout to the full hash of the commit. The rollout starts again at the first wave, with its windows and approvals. Use it if the cause was not the commit, for example a database that was down.',
    'Requires spec.rollout, permission to patch GatewaySyncs, and the verb approve. The role edit includes both, unless the chart value rollout.approverRole.enabled is set; then the ClusterRole …-approvers includes the verb.',
  ],
  examples: [{ line: 'retry plant -n gateways', does: 'Retry after you removed the cause' }],
  args: orderArgs,
  run: ({ args, host }) => carryOut({ args, host, effectOf: effectOfRetry }),
});
