import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { addressOf, gatewaysOf, keeperOf } from '../fleet/names.ts';
import type { Plan } from './plan.ts';

/** Leaves all gateways as they are. */
export function planPause(gatewaySync: GatewaySync): Plan {
  const address = addressOf(gatewaySync);
  if (gatewaySync.spec.paused) return { kind: 'done', says: `${address} is paused already.` };
  return {
    kind: 'change',
    says: `${address} pauses: ${gatewaysOf(gatewaySync)} keep the files that they have, and requests wait.${keeperOf(gatewaySync)}`,
    change: { spec: { paused: true } },
    about: [],
  };
}

/** Ends a pause. */
export function planResume(gatewaySync: GatewaySync): Plan {
  const address = addressOf(gatewaySync);
  if (!gatewaySync.spec.paused) return { kind: 'done', says: `${address} is not paused.` };
  const { spec, status } = gatewaySync;
  const ref = status?.target?.ref ?? spec.git.ref;
  return {
    kind: 'change',
    says: `${address} goes on: ${gatewaysOf(gatewaySync)} get what ${ref} is now.${keeperOf(gatewaySync)}`,
    change: { spec: { paused: false } },
    about: [ref],
  };
}
