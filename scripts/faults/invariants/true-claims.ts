import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { deliveredOf, type Tree } from '../world/files.ts';
import type { Gateway } from '../world/gateway.ts';
import { conditionOf, type Resource } from '../world/resource.ts';
import type { World } from '../world/world.ts';
import { gatewaysOf, type Invariant, takeSample } from './sample.ts';

/** `Ready` and `AllGatewaysSynced` say only what is so on the disks. */
export const trueClaims: Invariant = async (world, { unchanged, files }) => {
  const wrong = await differing(world, unchanged, files);
  if (wrong.length === 0) return [];
  // A file may be replaced while it is read: what is so for longer is seen twice.
  const again = await takeSample(world);
  const same = [...unchanged].filter(
    ([resource, { metadata }]) => again.unchanged.get(resource)?.metadata.resourceVersion === metadata.resourceVersion,
  );
  return await differing(world, new Map(same), again.files);
};

async function differing(
  world: World,
  unchanged: Map<Resource, GatewaySync>,
  files: Map<Gateway, ReturnType<Gateway['look']>>,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const [resource, object] of unchanged) {
    if (!claimsAll(object)) continue;
    const wanted = await wantedOf(resource, object);
    for (const gateway of gatewaysOf(world, resource)) {
      if (gateway.isDisturbed) continue;
      const difference = differenceOf(gateway, wanted, files.get(gateway) ?? new Map());
      if (difference)
        wrong.push(`${resource.name} claims ${object.status?.lastSyncCommit}, but ${gateway.name}: ${difference}`);
    }
  }
  return wrong;
}

/**
 * A condition is about the generation that it names: an edit that no controller has seen makes it no lie, and whoever
 * waits for it compares the two. In a rollout, all gateways are in line also while some may not have the newest commit.
 */
function claimsAll(object: GatewaySync): boolean {
  const says = (type: string) => {
    const condition = conditionOf(object, type);
    return condition?.status === 'True' && condition.observedGeneration === object.metadata.generation;
  };
  return !object.spec.paused && (says('Ready') || (!object.spec.rollout && says('AllGatewaysSynced')));
}

/** What a resource's gateways must have on their disks. */
export async function wantedOf(resource: Resource, { spec, status }: GatewaySync): Promise<Tree> {
  const { mappings, excludePatterns } = spec.sync.profiles.default ?? { mappings: [] };
  const commit = await resource.known.treeOf(status?.lastSyncCommit ?? '');
  return deliveredOf(commit, { hasExtra: mappings.length > 1, excludes: excludePatterns !== undefined });
}

/** The first difference between what must be there and what is, in words. */
export function differenceOf(gateway: Gateway, wanted: Tree, found: ReturnType<Gateway['look']>): string | undefined {
  for (const [name, state] of wanted) {
    const content = found.get(name);
    if (!content) return `${name} is missing`;
    if (content.blob !== state.blob) return `${name} is ${content.blob}, not ${state.blob}`;
    if (content.isExecutable !== state.isExecutable) return `${name} has the wrong mode`;
  }
  const more = [...found.keys()].find((name) => !wanted.has(name) && !gateway.isForeign(name));
  return more && `${more} is too much`;
}
