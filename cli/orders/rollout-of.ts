import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { Problem } from '../client/problem.ts';
import { addressOf } from '../fleet/names.ts';

/** Returns the rollout of a resource. Throws `Problem` without one. */
export function rolloutOf(gatewaySync: GatewaySync): RolloutStatus {
  const { spec, status } = gatewaySync;
  const address = addressOf(gatewaySync);
  if (!spec.rollout)
    throw new Problem(`${address} has no spec.rollout, which rollback, approve, and retry require`, 'NoRollout');
  if (!status?.rollout) throw new Problem(`${address} has no rollout yet: see kubectl stoker status`, 'NoRollout');
  return status.rollout;
}
