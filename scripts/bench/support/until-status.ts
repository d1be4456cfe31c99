import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { NAMESPACE, type World } from './world.ts';

type Status = NonNullable<GatewaySync['status']>;

/** Waits for a status of a GatewaySync. */
export async function untilStatus(
  { client }: Pick<World, 'client'>,
  name: string,
  accept: (status: Status) => boolean,
): Promise<void> {
  const path = gatewaySyncPath(NAMESPACE, name);
  while (!accept((await client.get<GatewaySync>(path)).status ?? {})) await sleep(50);
}
