import { isCommitHash } from '../../shared/domain/git/check-ref-name.ts';
import { Problem } from '../client/problem.ts';
import { readDetails } from '../client/read.ts';
import { makeCommand } from '../command-support/command.ts';
import { carryOut, orderArgs } from '../command-support/order.ts';
import { effectOfApproval } from '../orders/approve.ts';

/** `kubectl stoker approve`: approves a commit for the waves that require approval. */
export const approve = makeCommand({
  name: 'approve',
  summary: 'Approve the new commit of a rollout',
  details: [
    'Sets the annotation sync.io/approve to the full hash of the commit that is being rolled out, and its revision of spec.sync. Refuses a paused resource, and a spec.sync that was edited after the preview. The approval covers every wave of this commit, with the changes that the gateways have reported, and no other commit. Shows these changes as numbers; kubectl stoker plan lists them. Fails until the preview of the commit has ended. If gateways report other changes before you confirm, nothing is approved.',
    'Requires permission to patch GatewaySyncs, and the verb approve if the chart value rollout.approverRole.enabled is set.',
  ],
  examples: [
    { line: 'approve plant -n gateways', does: 'Approve the commit that is being rolled out' },
    {
      line: 'approve plant --commit 3f2a91bc64d07c1f9f5b1e8a0c52d9b7e6a1f430 --yes',
      does: 'In a script, approve this commit; fail if a different one is being rolled out',
    },
  ],
  args: {
    commit: {
      type: 'string',
      valueHint: 'C',
      description: 'Full commit hash. Fail if a different commit is being rolled out.',
    },
    ...orderArgs,
  },
  run: ({ args, host }) => {
    // Commits with the same first characters can be created within a second.
    if (args.commit !== undefined && !isCommitHash(args.commit))
      throw new Problem('--commit must be a full commit hash of 40 or 64 characters', 'InvalidArguments');
    return carryOut({
      args,
      host,
      effectOf: (gatewaySync, beyond) => effectOfApproval(gatewaySync, args.commit, beyond),
      details: (access, gatewaySync) => readDetails(access, access.namespace, [gatewaySync]),
    });
  },
});
