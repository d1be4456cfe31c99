import { setTimeout as sleep } from 'node:timers/promises';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import type { GitRepository } from '../../testbed/git-repository.ts';
import type { Deliveries } from './deliveries.ts';
import type { Gateways } from './gateways.ts';
import type { Resource, World } from './world.ts';

/**
 * Releases and edits are of a tenth of the resources each, so that most go on following their branch; none of them has
 * the first repository, which is left to the agents that fetch.
 */
const SHARES = { releases: 3, edits: 1 };

export interface MixParts {
  world: World;
  deliveries: Deliveries;
  gateways: Gateways;
}

/** What a mix did, and what of it failed. */
export interface MixCounts {
  pushes: number;
  commits: number;
  releases: number;
  edits: number;
  churn: number;
  errors: string[];
}

/** Changes everything at constant rates, whether or not the answers come, until the time is over. */
export async function applyMix({ world, deliveries, gateways }: MixParts, seconds: number): Promise<MixCounts> {
  const { size, resources, client } = world;
  const repositories = world.repositories.slice(1);
  const counts: MixCounts = { pushes: 0, commits: 0, releases: 0, edits: 0, churn: 0, errors: [] };
  const until = performance.now() + seconds * 1000;
  const sharing = new Map<GitRepository, Resource[]>();
  for (const resource of resources) {
    sharing.set(resource.repository, [...(sharing.get(resource.repository) ?? []), resource]);
  }
  let number = 0;
  const commit = (repository: GitRepository) => repository.commit({ files: { 'config/a': `${++number}` } });
  const work: Record<Exclude<keyof MixCounts, 'errors'>, () => Promise<unknown>> = {
    pushes: async () => {
      const repository = anyOf(repositories);
      await commit(repository);
      await Promise.all((sharing.get(repository) ?? []).map((resource) => deliveries.push(resource)));
    },
    commits: () => commit(anyOf(repositories)),
    releases: () => deliveries.release(anyOf(tenthOf(resources, SHARES.releases)), `v${1 + (number++ % 2)}`),
    edits: () => {
      const { namespace, name } = anyOf(tenthOf(resources, SHARES.edits));
      const mappings = [{ source: 'config', destination: `config-${++number}` }];
      const spec = { sync: { profiles: { default: { mappings } } } };
      return client.mergePatch(gatewaySyncPath(namespace, name), { spec });
    },
    churn: () => gateways.replaceOne(),
  };
  const underWay = new Set<Promise<void>>();
  const begin = (what: keyof typeof work) => {
    counts[what] += 1;
    const done: Promise<void> = work[what]()
      .then(
        () => {},
        (error) => void counts.errors.push(`${what}: ${error}`),
      )
      .finally(() => underWay.delete(done));
    underWay.add(done);
  };
  const keepOn = async (what: keyof typeof work) => {
    const everyMs = 60_000 / size[what];
    for (let at = performance.now() + Math.random() * everyMs; at < until; at += everyMs) {
      await sleep(Math.max(0, at - performance.now()));
      begin(what);
    }
  };
  const kinds = Object.keys(work) as (keyof typeof work)[];
  await Promise.all(kinds.filter((what) => size[what] > 0).map(keepOn));
  await sleep(Math.max(0, until - performance.now()));
  await Promise.all(underWay);
  return counts;
}

function anyOf<T>(items: T[]): T {
  return items[Math.floor(Math.random() * items.length)] as T;
}

const tenthOf = (resources: Resource[], share: number): Resource[] =>
  resources.filter((_, index) => index % 10 === share);
