import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { deliveredOf, type Tree } from '../world/files.ts';
import type { Gateway } from '../world/gateway.ts';
import { conditionOf, type Resource } from '../world/resource.ts';
import type { World } from '../world/world.ts';
import { gatewaysOf, type Invariant, type Sample, takeSample } from './sample.ts';

/** Checks that `Ready` and `AllGatewaysSynced` match the disks. */
export const trueClaims: Invariant = async (world, sample) => {
  const wrong = await differing(world, sample);
  if (wrong.length === 0) return [];
  // A file may be replaced while it is read, so a difference must be seen twice.
  const again = await takeSample(world);
  const same = [...sample.unchanged].filter(
    ([resource, { metadata }]) => again.unchanged.get(resource)?.metadata.resourceVersion === metadata.resourceVersion,
  );
  return await differing(world, { unchanged: new Map(same), files: again.files });
};

async function differing(world: World, { unchanged, files }: Sample): Promise<string[]> {
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
 * Returns whether the conditions claim that all gateways are in sync. A condition applies to the generation that it
 * names, so an unobserved edit doesn't make it false. In a rollout, gateways may be in sync without the newest commit.
 */
function claimsAll(object: GatewaySync): boolean {
  const says = (type: string) => {
    const condition = conditionOf(object, type);
    return condition?.status === 'True' && condition.observedGeneration === object.metadata.generation;
  };
  return !object.spec.paused && (says('Ready') || (!object.spec.rollout && says('AllGatewaysSynced')));
}

/** Returns the files that a resource's gateways must have on their disks. */
export async function wantedOf(resource: Resource, { spec, status }: GatewaySync): Promise<Tree> {
  const { mappings, excludePatterns } = spec.sync.profiles.default ?? { mappings: [] };
  const commit = await resource.known.treeOf(status?.lastSyncCommit ?? '');
  return deliveredOf(commit, { hasExtra: mappings.length > 1, excludes: excludePatterns !== undefined });
}

/** Describes the first difference between the wanted files and the files on disk. */
export function differenceOf(gateway: Gateway, wanted: Tree, found: ReturnType<Gateway['look']>): string | undefined {
  for (const [name, state] of wanted) {
    const content = found.get(name);
    if (!content) return `${name} is missing`;
    if (content.blob !== state.blob) return `${name} is ${content.blob}, not ${state.blob}`;
    if (content.isExecutable !== state.isExecutable) return `${name} has the wrong mode`;
  }
  const more = [...found.keys()].find((name) => !wanted.has(name) && !gateway.isForeign(name));
  return more && `${more} should not exist`;
}
