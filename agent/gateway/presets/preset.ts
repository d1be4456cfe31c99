import type { CallLimits, GatewayClient, GatewayRequest } from '../gateway-client.ts';
import { ignition } from './ignition.ts';

/** What is known of a product beyond what every gateway can be told by `reload.requests`. */
export interface Preset {
  /** People who edit on the gateway now, one name each; undefined where the product has no such thing. */
  listEditors?(client: GatewayClient): Promise<string[]>;
  /** Notifies the gateway that its files changed; the limits are those of each call. Throws what the client throws. */
  reload(client: GatewayClient, limits: CallLimits): Promise<void>;
  /** Calls by which a gateway says that it is well. */
  checks: GatewayRequest[];
}

/** A gateway of which nothing is known. */
const none: Preset = { reload: async () => {}, checks: [] };

/** The preset of that name, as the API knows them. */
export function findPreset(name: 'none' | 'ignition'): Preset {
  return { none, ignition }[name];
}
