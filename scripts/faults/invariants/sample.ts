import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi } from '../../testbed/call-api.ts';
import type { Gateway } from '../world/gateway.ts';
import type { Resource } from '../world/resource.ts';
import type { World } from '../world/world.ts';

type Files = ReturnType<Gateway['look']>;

/** The state of the world at one moment. */
export interface Sample {
  files: Map<Gateway, Files>;
  /** Resources that didn't change while the disks were read; empty if the API server didn't respond. */
  unchanged: Map<Resource, GatewaySync>;
}

/** A condition that holds in every sample; returns descriptions of violations. */
export type Invariant = (world: World, sample: Sample) => Promise<string[]> | string[];

const TIMEOUT_MS = 3_000;

/** Reads statuses, then disks, then statuses again. */
export async function takeSample(world: World): Promise<Sample> {
  const before = await list(world);
  const files = new Map(world.gateways.map((gateway) => [gateway, gateway.look()]));
  const after = await list(world);
  const unchanged = world.resources.flatMap((resource) => {
    const first = before?.get(resource.name);
    const second = after?.get(resource.name);
    const isSame = first && first.metadata.resourceVersion === second?.metadata.resourceVersion;
    return isSame ? [[resource, first] as const] : [];
  });
  return { files, unchanged: new Map(unchanged) };
}

async function list({ plane: { server } }: World): Promise<Map<string, GatewaySync> | undefined> {
  const answer = callApi<{ items: GatewaySync[] }>(server, { path: gatewaySyncPath() }).catch(() => undefined);
  const given = await Promise.race([answer, sleep(TIMEOUT_MS, undefined, { ref: false })]);
  return given && new Map(given.items.map((item) => [item.metadata.name, item]));
}

/** Returns the gateways of a resource. */
export const gatewaysOf = ({ gateways }: World, { name }: Resource): Gateway[] =>
  gateways.filter(({ resource }) => resource === name);
