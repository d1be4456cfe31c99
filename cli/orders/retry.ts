import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { Problem } from '../client/problem.ts';
import { addressOf } from '../fleet/names.ts';
import { named, toRetry } from '../fleet/orders.ts';
import { effectOfAnnotation, type OrderEffect } from './order-effect.ts';
import { rolloutOf } from './rollout-of.ts';

/** Returns the effect of a retry of a commit that was stopped or rolled back. Throws `Problem`. */
export function effectOfRetry(gatewaySync: GatewaySync): OrderEffect {
  const address = addressOf(gatewaySync);
  const rollout = rolloutOf(gatewaySync);
  const commit = toRetry(rollout);
  if (commit === undefined)
    throw new Problem(`${address} has no commit to retry: its rollout is ${rollout.summary}`, 'NothingToDo');
  const ref = commit === rollout.commit ? rollout.ref : undefined;
  // The controller starts only the commit of the ref; for another commit, it only lifts the rejection.
  const isNewest = [rollout.commit, rollout.nextCommit, gatewaySync.status?.lastSyncCommit].includes(commit);
  const start = isNewest
    ? 'restarts at the first wave'
    : 'will be accepted again: it starts at the first wave when the ref resolves to it';
  const says = `${named(commit, ref)} ${start}.`;
  return effectOfAnnotation(gatewaySync, 'retry', { value: commit, says, about: [] });
}
