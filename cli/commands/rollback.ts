import { listReleases } from '../client/read.ts';
import { makeCommand } from '../command-support/command.ts';
import { carryOut, orderArgs } from '../command-support/order.ts';
import { effectOfRollback } from '../orders/rollback.ts';

/** `kubectl stoker rollback`: rolls all gateways back to an earlier release at once. */
export const rollback = makeCommand({
  name: 'rollback',
  summary: 'Roll all gateways back to an earlier release',
  details: [
    'Sets the annotation sync.io/rollback. All gateways change at once, to the commit and the spec.sync of that release. Waves, soak, approval, and windows do not apply. The commit that is rolled back is not retried until you run kubectl stoker retry or a new commit arrives.',
    'Without --to, the gateways return to the previous release: to the last complete one during a rollout or after it stopped, otherwise to the newest one before it with the result Complete. With --to, you can choose any release that was complete, older or newer, for example to undo a rollback. Requires spec.rollout, permission to patch GatewaySyncs and to list SyncReleases, and the verb approve. The role edit includes them, unless the chart value rollout.approverRole.enabled is set; then the ClusterRole …-approvers includes the verb.',
  ],
  examples: [
    { line: 'rollback plant -n gateways', does: 'Roll back to the previous release' },
    { line: 'rollback plant --to 12', does: 'Roll back to a release of kubectl stoker history' },
  ],
  args: {
    to: {
      type: 'string',
      valueHint: 'NUMBER',
      description: 'Number of a release that was complete, or the name of its SyncRelease, such as plant-12.',
    },
    ...orderArgs,
  },
  run: ({ args, host }) =>
    carryOut({
      args,
      host,
      effectOf: (gatewaySync, beyond) =>
        effectOfRollback(gatewaySync, { to: args.to ?? 'previous', releases: beyond?.releases }),
      details: async (access, { metadata }) => ({ releases: await listReleases(access, metadata.name) }),
    }),
});
