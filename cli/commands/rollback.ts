import { planRollback } from '../orders/rollback.ts';
import { makeCommand } from './command.ts';
import { carryOut, orderArgs } from './order.ts';

/** `kubectl stoker rollback`: all gateways go to a commit of the history, at once. */
export const rollback = makeCommand({
  name: 'rollback',
  summary: 'Take all gateways to another commit that was complete',
  details: [
    'Sets sync.io/rollback. All gateways go there at once, with the spec.sync of then: waves, soak, approval and windows do not count. What they leave is not tried again until kubectl stoker retry, or until another commit comes.',
    'Without --to it is the previous commit: while one is rolled out or has stopped, the last complete one, else the entry of the history before the current one. With --to it is any entry, older or newer, so that a rollback too far can be undone. It needs spec.rollout, the right to patch GatewaySyncs, and the verb approve if the chart value rollout.approverRole.enabled is set.',
  ],
  examples: [
    { line: 'rollback plant -n gateways', does: 'to the previous commit' },
    { line: 'rollback plant --to 3f2a91bc', does: 'to one of kubectl stoker history' },
  ],
  args: {
    to: {
      type: 'string',
      valueHint: 'C',
      description:
        'A commit of the history; its first characters are enough. COMMIT/REVISION if it is there with several spec.sync.',
    },
    ...orderArgs,
  },
  run: ({ args, host }) => {
    const next = { command: `status ${args.name}`, does: 'shows who is back' };
    return carryOut({ args, host, plan: (gatewaySync) => planRollback(gatewaySync, args.to ?? 'previous'), next });
  },
});
