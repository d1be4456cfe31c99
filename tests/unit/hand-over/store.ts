import { chooseRelease } from '../../../agent/resource/choose-release.ts';
import { projectResource } from '../../../agent/resource/watch-resource.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { syncRevision } from '../../../shared/domain/rollout/sync-revision.ts';
import { gatewaySpecOf } from '../../support/objects.ts';
import { versionOf } from './api-server.ts';
import { checkStatus, timeOfTarget } from './invariants.ts';
import { liveOf, type Setup, type Truth, type World } from './world.ts';

/** Stores a resource, checks the rules, and records the facts that they need. */
export function store(world: World, after: GatewaySync, setup: Setup, by?: 'people'): World {
  const before = liveOf(world);
  if (after === before) return world;
  const stored = prune({ ...world, versions: [...world.versions, after] });
  if (after.status === before.status) return stored;
  if (by !== 'people') checkStatus(stored, before, setup);
  return { ...stored, truth: noteStatus(stored, after) };
}

/** Drops the versions that all watches have received. */
export function prune(world: World): World {
  const seen = [
    ...world.controllers.map((controller) => controller && Number(controller.cached.resourceVersion)),
    ...world.agents.map((agent) => agent.seen && versionOf(agent.seen)),
  ].filter((version) => version !== undefined);
  const oldest = Math.min(...seen);
  const versions = world.versions.filter(
    (version, index, all) => index === all.length - 1 || versionOf(version) > oldest,
  );
  return versions.length === world.versions.length ? world : { ...world, versions };
}

function noteStatus(world: World, after: GatewaySync): Truth {
  const { truth } = world;
  const admitted = truth.admitted.map((already, index) => {
    const release = releaseFor(after, index);
    return release === undefined || already.includes(release) ? already : [...already, release].sort();
  });
  const { lastRequest } = after.status ?? {};
  const isGivenUp = lastRequest?.outcome === 'Failed' && !truth.givenUp.includes(lastRequest.ref);
  const givenUp = isGivenUp ? [...truth.givenUp, lastRequest.ref].sort() : truth.givenUp;
  const { rollout } = after.status ?? {};
  const release = rollout && { [rollout.number]: `${rollout.commit} ${rollout.revision}` };
  const followedAt = after.status?.target ? timeOfTarget(truth, after) : 0;
  return { ...truth, admitted, givenUp, followedAt, rollouts: { ...truth.rollouts, ...release } };
}

/** Returns what a status admits for a gateway, as mapping and commit; undefined if it admits nothing. */
function releaseFor(resource: GatewaySync, index: number): string | undefined {
  const { status = {}, metadata, spec } = resource;
  const { conditions = [], observedGeneration, lastSyncCommit } = status;
  if (observedGeneration !== metadata.generation) return undefined;
  const { rollout } = projectResource(resource);
  if (rollout) {
    const identity = { podName: podNameOf(index), gatewayName: undefined };
    const release = chooseRelease(rollout, { identity, labels: new Map() });
    if (typeof release === 'string') return undefined;
    const mapping = MAPPINGS.find((each) => syncRevision(syncOf(each)) === release.revision);
    return `${mapping} ${release.commit}`;
  }
  const isResolved = conditions.some(({ type, status: value }) => type === 'RefResolved' && value === 'True');
  return isResolved ? `${mappingOf(spec.sync)} ${lastSyncCommit}` : undefined;
}

export const podNameOf = (index: number): string => `gateway-${index}`;

/** Possible values of `spec.sync`. */
export const MAPPINGS = ['a', 'b'];

const syncs = new Map(
  MAPPINGS.map((source) => {
    const mappings = [{ source, destination: 'out' }];
    return [source, gatewaySpecOf({ sync: { profiles: { default: { mappings } } } }).sync];
  }),
);

export const syncOf = (mapping: string): Sync => syncs.get(mapping) as Sync;

type Sync = GatewaySync['spec']['sync'];

/** The single mapping of the single profile identifies a `spec.sync`. */
function mappingOf(sync: Sync): string {
  return sync.profiles.default?.mappings?.[0]?.source ?? '';
}
