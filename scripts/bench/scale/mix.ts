import { setTimeout as sleep } from 'node:timers/promises';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import type { GitRepository } from '../../testbed/git-repository.ts';
import type { PlayedFleet } from '../support/played-fleet.ts';
import type { Deliveries } from './deliveries.ts';
import type { Resource, ScaleWorld } from './world.ts';

const kinds = ['pushes', 'commits', 'releases', 'edits', 'churn'] as const;
type Kind = (typeof kinds)[number];

/** Number of changes of each kind, and the errors of those that failed. */
export type MixCounts = Record<Kind, number> & { errors: string[] };

interface MixParts {
  world: ScaleWorld;
  deliveries: Deliveries;
  fleet: PlayedFleet;
}

/** Makes changes at constant rates for a time, without waiting for the effects of earlier ones. */
export async function applyMix(parts: MixParts, seconds: number): Promise<MixCounts> {
  const { size } = parts.world;
  const changes = changesOf(parts);
  const counts: MixCounts = { pushes: 0, commits: 0, releases: 0, edits: 0, churn: 0, errors: [] };
  const inProgress = new Set<Promise<void>>();
  const begin = (kind: Kind) => {
    counts[kind] += 1;
    const change: Promise<void> = changes[kind]()
      .catch((error) => void counts.errors.push(`${kind}: ${error}`))
      .finally(() => inProgress.delete(change));
    inProgress.add(change);
  };
  const end = performance.now() + seconds * 1000;
  const repeat = async (kind: Kind) => {
    const everyMs = 60_000 / size[kind];
    for (let at = performance.now() + Math.random() * everyMs; at < end; at += everyMs) {
      await sleep(Math.max(0, at - performance.now()));
      begin(kind);
    }
  };
  await Promise.all(kinds.filter((kind) => size[kind] > 0).map(repeat));
  await sleep(Math.max(0, end - performance.now()));
  await Promise.all(inProgress);
  return counts;
}

/** Releases and edits concern a tenth of the resources each, so that most continue to follow their branch. */
function changesOf({ world, deliveries, fleet }: MixParts): Record<Kind, () => Promise<void>> {
  const { resources, repositories, client } = world;
  const tenth = (share: number) => anyOf(resources.filter((_, index) => index % 10 === share));
  let number = 0;
  const commit = async (repository: GitRepository) => {
    await repository.commit({ files: { 'files/a': `${++number}` } });
  };
  return {
    pushes: async () => {
      const repository = anyOf(repositories);
      await commit(repository);
      const followers = resources.filter((resource) => resource.repository === repository);
      await Promise.all(followers.map((resource) => deliveries.push(resource)));
    },
    commits: () => commit(anyOf(repositories)),
    releases: async () => {
      await deliveries.release(tenth(3), `v${1 + (number++ % 2)}`);
    },
    edits: async () => {
      const { namespace, name } = tenth(1);
      const mappings = [{ source: 'files', destination: `files-${++number}` }];
      const spec = { sync: { profiles: { default: { mappings } } } };
      await client.mergePatch(gatewaySyncPath(namespace, name), { spec });
    },
    churn: async () => {
      const { namespace, name } = anyOf<Resource>(resources);
      await fleet.removeOne(namespace, name);
      await fleet.add({ namespace, resource: name, name: `replaced-${++number}`, isUninjected: true });
    },
  };
}

function anyOf<T>(items: T[]): T {
  return items[Math.floor(Math.random() * items.length)] as T;
}
