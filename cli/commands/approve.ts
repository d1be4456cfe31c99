import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { ROLLOUT_ANNOTATIONS } from '../../shared/api/names.ts';
import { isCommitHash } from '../../shared/domain/check-ref-name.ts';
import { EXIT, Problem } from '../client/problem.ts';
import { addressOf } from '../fleet/names.ts';
import { toApprove } from '../fleet/orders.ts';
import { makeCommand } from './command.ts';
import { carryOut, orderArgs, type Plan } from './order.ts';
import { rolloutOf } from './rollout-of.ts';

/** `kubectl gs approve`: lets a commit into the waves that wait for it. */
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

function planApproval(gatewaySync: GatewaySync, wanted: string | undefined): Plan {
  const { metadata, spec } = gatewaySync;
  const address = addressOf(gatewaySync);
  const rollout = rolloutOf(gatewaySync);
  const commit = toApprove(rollout);
  if (commit === undefined) throw new Problem(`nothing of ${address} is on its way: it is ${rollout.summary}`);
  if (wanted !== undefined && commit !== wanted)
    throw new Problem(`nothing was approved: not ${wanted} is on its way, but ${commit}`);
  const waves = (spec.rollout?.waves ?? []).filter(({ approval }) => approval).map(({ name }) => name);
  if (waves.length === 0) throw new Problem(`no wave of ${address} waits for approval`);
  if (metadata.annotations?.[ROLLOUT_ANNOTATIONS.approve] === commit)
    return { kind: 'done', says: `${commit} is approved already for ${address}.` };
  const ref = commit === rollout.commit && rollout.ref !== commit ? ` (${rollout.ref})` : '';
  return {
    kind: 'change',
    says: `${address}: ${commit}${ref} may have the ${waves.length === 1 ? 'wave' : 'waves'} ${waves.join(', ')} as soon as the ones before are done.`,
    change: { annotations: { [ROLLOUT_ANNOTATIONS.approve]: commit } },
    about: waves,
  };
}
