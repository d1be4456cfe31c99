import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { ROLLOUT_ANNOTATIONS } from '../../shared/api/names.ts';
import { Problem } from '../client/problem.ts';
import { addressOf } from '../fleet/names.ts';
import { named, toRetry } from '../fleet/orders.ts';
import type { Plan } from './plan.ts';
import { rolloutOf } from './rollout-of.ts';

/** Gives a commit that was stopped or taken back another try. Throws `Problem`. */
export function planRetry(gatewaySync: GatewaySync): Plan {
  const address = addressOf(gatewaySync);
  const rollout = rolloutOf(gatewaySync);
  const commit = toRetry(rollout);
  if (commit === undefined)
    throw new Problem(`nothing of ${address} was stopped or taken back: it is ${rollout.summary}`);
  const { handled, ref } = rollout;
  const current = gatewaySync.metadata.annotations?.[ROLLOUT_ANNOTATIONS.retry];
  if (current === commit && handled?.retry !== commit)
    return { kind: 'done', says: `${address} was told so already: the controller has not got to it yet.` };
  return {
    kind: 'change',
    says: `${address}: ${named(commit, commit === rollout.commit ? ref : undefined)} starts again at the first wave.`,
    change: { annotations: { [ROLLOUT_ANNOTATIONS.retry]: commit } },
    about: [],
    ...(current === commit && {
      before: {
        annotation: ROLLOUT_ANNOTATIONS.retry,
        isGone: (now: GatewaySync) => now.status?.rollout?.handled?.retry === undefined,
      },
    }),
  };
}
