import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { Problem } from '../client/problem.ts';
import { addressOf } from '../fleet/names.ts';
import { named, toRetry } from '../fleet/orders.ts';
import { type Plan, planOnce } from './plan.ts';
import { rolloutOf } from './rollout-of.ts';

/** Gives a commit that was stopped or taken back another try. Throws `Problem`. */
export function planRetry(gatewaySync: GatewaySync): Plan {
  const address = addressOf(gatewaySync);
  const rollout = rolloutOf(gatewaySync);
  const commit = toRetry(rollout);
  if (commit === undefined)
    throw new Problem(`nothing of ${address} was stopped or taken back: it is ${rollout.summary}`);
  const ref = commit === rollout.commit ? rollout.ref : undefined;
  const says = `${named(commit, ref)} starts again at the first wave.`;
  return planOnce(gatewaySync, 'retry', { value: commit, says, about: [] });
}
