import type { CallLimits, GatewayClient, GatewayRequest } from '../gateway-client.ts';
import { ignition } from './ignition.ts';

/** Knowledge about a product, in addition to `reload.requests`, which work for every gateway. */
export interface Preset {
  /** Returns the users who are editing on the gateway now, one string each; undefined if the product has no editors. */
  listEditors?(client: GatewayClient): Promise<string[]>;
  /** Notifies the gateway that its files changed; the limits apply to each call. Throws the client's errors. */
  reload(client: GatewayClient, limits: CallLimits): Promise<void>;
  /** Calls that succeed on a healthy gateway. */
  checks: GatewayRequest[];
}

/** A gateway of an unknown product. */
const none: Preset = { reload: async () => {}, checks: [] };

/** Returns the preset with this name in the API. */
export function findPreset(name: 'none' | 'ignition'): Preset {
  return { none, ignition }[name];
}
