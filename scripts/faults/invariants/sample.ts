import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi } from '../../testbed/call-api.ts';
import type { Gateway } from '../world/gateway.ts';
import type { Resource } from '../world/resource.ts';
import type { World } from '../world/world.ts';

type Files = ReturnType<Gateway['look']>;

/** One look at the world. */
export interface Sample {
  files: Map<Gateway, Files>;
  /** The resources that were the same before and after the look at the disks; none where the API server did not answer. */
  unchanged: Map<Resource, GatewaySync>;
}

/** What must be so in every sample; gives what is wrong, in words. */
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
  const given = await Promise.race([answer, timeout()]);
  return given && new Map(given.items.map((item) => [item.metadata.name, item]));
}

const timeout = () => sleep(TIMEOUT_MS, undefined, { ref: false });

/** The gateways of a resource. */
export const gatewaysOf = ({ gateways }: World, { name }: Resource): Gateway[] =>
  gateways.filter(({ resource }) => resource === name);
