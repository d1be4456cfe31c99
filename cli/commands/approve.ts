import { isCommitHash } from '../../shared/domain/check-ref-name.ts';
import { EXIT, Problem } from '../client/problem.ts';
import { planApproval } from '../orders/approve.ts';
import { makeCommand } from './command.ts';
import { carryOut, orderArgs } from './order.ts';

/** `kubectl stoker approve`: lets a commit into the waves that wait for it. */
export const approve = makeCommand({
  name: 'approve',
  summary: 'Let a commit into the waves that wait for approval',
  details: [
    'Sets sync.io/approve to the commit that is on its way, in full. It counts for every wave of that commit, and for no other commit.',
    'It needs the right to patch GatewaySyncs, and the verb approve if the chart value rollout.approverRole.enabled is set.',
  ],
  examples: [
    { line: 'approve plant -n gateways', does: 'the commit that is on its way' },
    {
      line: 'approve plant --commit 3f2a91bc64d07c1f9f5b1e8a0c52d9b7e6a1f430 --yes',
      does: 'in a script: that one, and nothing if it is another by now',
    },
  ],
  args: {
    commit: { type: 'string', valueHint: 'C', description: 'The commit in full: refuse if another one is on its way.' },
    ...orderArgs,
  },
  run: ({ args, host }) => {
    // Two commits with the same first characters are made within a second.
    if (args.commit !== undefined && !isCommitHash(args.commit))
      throw new Problem('--commit is a commit in full, of 40 or 64 characters', EXIT.usage);
    const next = { command: `status ${args.name}`, does: 'shows how far it is' };
    return carryOut({ args, host, plan: (gatewaySync) => planApproval(gatewaySync, args.commit), next });
  },
});
