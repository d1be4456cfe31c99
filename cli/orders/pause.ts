import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { specRef } from '../../shared/domain/git/spec-ref.ts';
import { addressOf, gatewaysDo, keeperOf } from '../fleet/names.ts';
import type { OrderEffect } from './order-effect.ts';

/** Returns the effect of a pause. */
export function effectOfPause(gatewaySync: GatewaySync): OrderEffect {
  const address = addressOf(gatewaySync);
  if (gatewaySync.spec.paused) return { kind: 'done', says: `${address} is already paused.` };
  return {
    kind: 'change',
    says: `${address} will be paused: ${gatewaysDo(gatewaySync, {
      one: 'keeps its files',
      many: 'keep their files',
      none: '',
    })}, and requests wait.${keeperOf(gatewaySync)}`,
    change: { spec: { paused: true } },
    about: [],
  };
}

/** Returns the effect of the end of a pause. */
export function effectOfResume(gatewaySync: GatewaySync): OrderEffect {
  const address = addressOf(gatewaySync);
  if (!gatewaySync.spec.paused) return { kind: 'done', says: `${address} is not paused.` };
  const { spec, status } = gatewaySync;
  const ref = status?.target?.ref ?? specRef(spec.git);
  return {
    kind: 'change',
    says: `${address} will be resumed: ${gatewaysDo(gatewaySync, {
      one: `gets the current commit of ${ref}`,
      many: `get the current commit of ${ref}`,
      none: ` yet, and follows ${ref}`,
    })}.${keeperOf(gatewaySync)}`,
    change: { spec: { paused: false } },
    about: [ref],
  };
}
