import { makeCommand } from '../command-support/command.ts';
import { carryOut, orderArgs } from '../command-support/order.ts';
import { effectOfRollback } from '../orders/rollback.ts';

/** `kubectl stoker rollback`: rolls all gateways back to a commit of the history at once. */
export const rollback = makeCommand({
  name: 'rollback',
  summary: 'Roll all gateways back to an earlier commit',
  details: [
    'Sets the annotation sync.io/rollback. All gateways change at once, with the spec.sync of that commit. Waves, soak, approval, and windows do not apply. The commit that is rolled back is not retried until you run kubectl stoker retry or a new commit arrives.',
    'Without --to, the gateways return to the previous commit: to the last complete one during a rollout or after it stopped, otherwise to the entry of the history before the current one. With --to, you can choose any entry, older or newer, for example to undo a rollback. Requires spec.rollout, permission to patch GatewaySyncs, and the verb approve if the chart value rollout.approverRole.enabled is set.',
  ],
  examples: [
    { line: 'rollback plant -n gateways', does: 'Roll back to the previous commit' },
    { line: 'rollback plant --to 3f2a91bc', does: 'Roll back to a commit of kubectl stoker history' },
  ],
  args: {
    to: {
      type: 'string',
      valueHint: 'C',
      description:
        'Commit of the history, or its first characters. Use COMMIT/REVISION if the history has the commit with several revisions of spec.sync.',
    },
    ...orderArgs,
  },
  run: ({ args, host }) =>
    carryOut({ args, host, effectOf: (gatewaySync) => effectOfRollback(gatewaySync, args.to ?? 'previous') }),
});
