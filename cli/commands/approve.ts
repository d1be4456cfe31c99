import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { isCommitHash } from '../../shared/domain/git/check-ref-name.ts';
import { storedReleaseOf } from '../../shared/domain/rollout/stored-release.ts';
import type { Access } from '../client/connect.ts';
import { Problem } from '../client/problem.ts';
import { getRelease, readDetails } from '../client/read.ts';
import { makeCommand } from '../command-support/command.ts';
import { carryOut, orderArgs } from '../command-support/order.ts';
import type { Beyond } from '../fleet/beyond.ts';
import { toApprove } from '../fleet/orders.ts';
import { effectOfApproval } from '../orders/approve.ts';

/** `kubectl stoker approve`: approves a release for the waves that require approval. */
export const approve = makeCommand({
  name: 'approve',
  summary: 'Approve the new release of a rollout',
  details: [
    'Adds an approval with your user name to the SyncRelease that is being rolled out, or to the newer one that waits. The approval is for this commit and this spec.sync, with the changes that the gateways have reported, and for all waves with approval, or the one in --wave. If a gateway reports other changes later, its wave needs another approval. Approvals cannot be removed; to stop the rollout, run kubectl stoker pause or rollback.',
    'Shows how many gateways and files change; kubectl stoker plan lists them. Fails until the preview of the release has ended. If gateways report other changes before you confirm, nothing is approved.',
    'Requires permission to get GatewaySyncs and SyncReleases, which the role view includes, and to patch SyncReleases, which the ClusterRole …-approvers includes. If the chart value rollout.approverRole.enabled is false, the role edit includes it as well.',
  ],
  examples: [
    { line: 'approve plant -n gateways', does: 'Approve the release that is being rolled out' },
    {
      line: 'approve plant --commit 3f2a91bc64d07c1f9f5b1e8a0c52d9b7e6a1f430 --yes',
      does: 'In a script, approve this commit; fail if a different one is being rolled out',
    },
    { line: 'approve plant --wave production', does: 'Approve the release for one wave only' },
  ],
  args: {
    commit: {
      type: 'string',
      valueHint: 'C',
      description: 'Full commit hash. Fail if a different commit is being rolled out.',
    },
    wave: { type: 'string', valueHint: 'W', description: 'Approve only this wave. Default: all waves with approval.' },
    ...orderArgs,
  },
  run: ({ args, host }) => {
    // Commits with the same first characters can be created within a second.
    if (args.commit !== undefined && !isCommitHash(args.commit))
      throw new Problem('--commit must be a full commit hash of 40 or 64 characters', 'InvalidArguments');
    return carryOut({
      args,
      host,
      effectOf: (gatewaySync, beyond) => effectOfApproval(gatewaySync, args, beyond),
      details: readForApproval,
    });
  },
});

/** Reads the release to approve, and the reports about it. Throws `Problem`. */
async function readForApproval(access: Access, gatewaySync: GatewaySync): Promise<Beyond> {
  const { rollout } = gatewaySync.status ?? {};
  const { release } = (rollout && toApprove(rollout)) ?? {};
  const [details, stored] = await Promise.all([
    readDetails(access, access.namespace),
    release === undefined ? undefined : getRelease(access, release),
  ]);
  return { ...details, releases: stored && [storedReleaseOf(stored)] };
}
