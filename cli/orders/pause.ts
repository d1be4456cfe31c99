import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { addressOf, gatewaysDo, keeperOf } from '../fleet/names.ts';
import type { Plan } from './plan.ts';

/** Leaves all gateways as they are. */
export function planPause(gatewaySync: GatewaySync): Plan {
  const address = addressOf(gatewaySync);
  if (gatewaySync.spec.paused) return { kind: 'done', says: `${address} is paused already.` };
  return {
    kind: 'change',
    says: `${address} pauses: ${gatewaysDo(gatewaySync, {
      one: 'keeps the files that it has',
      many: 'keep the files that they have',
      none: '',
    })}, and requests wait.${keeperOf(gatewaySync)}`,
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
    says: `${address} goes on: ${gatewaysDo(gatewaySync, {
      one: `gets what ${ref} is now`,
      many: `get what ${ref} is now`,
      none: ` yet, and follows ${ref}`,
    })}.${keeperOf(gatewaySync)}`,
    change: { spec: { paused: false } },
    about: [ref],
  };
}
