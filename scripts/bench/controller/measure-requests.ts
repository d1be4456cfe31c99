import { setTimeout as sleep } from 'node:timers/promises';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { NAMESPACE, type World } from './world.ts';

interface Requests {
  /** Number of the first resource. */
  first: number;
  count: number;
  /** Seconds over which they are spread. */
  overSeconds?: number;
  /** Whether another one is to be made. */
  goOn?: () => boolean;
}

/** Milliseconds from the annotation to its answer in status, one request after the other, each to another resource. */
export async function measureRequests(
  { client, mirror }: World,
  { first, count, overSeconds = 0, goOn = () => true }: Requests,
): Promise<number[]> {
  const latencies: number[] = [];
  for (let index = first; index < first + count && goOn(); index += 1) {
    const name = `resource-${index}`;
    const id = `bench-${index}`;
    const annotations = {
      'sync.io/requested-ref': 'v1',
      'sync.io/request-id': id,
      'sync.io/requested-at': new Date().toISOString(),
    };
    await client.mergePatch(gatewaySyncPath(NAMESPACE, name), { metadata: { annotations } });
    const started = performance.now();
    while (mirror.store.get(`${NAMESPACE}/${name}`)?.status?.lastRequest?.id !== id) await sleep(1);
    latencies.push(performance.now() - started);
    await sleep((overSeconds * 1000) / count);
  }
  return latencies;
}

/**
 * The same while polls move all other resources to a new commit of their repository: gives the latencies, and how many
 * resources had moved when the last request was answered.
 */
export async function measureRequestsInFlood(
  world: World,
  { first, count }: Requests,
): Promise<{ latencies: number[]; moved: number }> {
  const { mirror, repositories } = world;
  const commits = new Set<string | undefined>();
  const countMoved = () =>
    [...mirror.store.values()].filter(({ status }) => commits.has(status?.lastSyncCommit)).length;
  for (const repository of repositories) commits.add(await repository.commit({ files: { 'config/a': '2' } }));
  const before = countMoved();
  while (countMoved() === before) await sleep(5);
  const latencies = await measureRequests(world, {
    first,
    count,
    goOn: () => countMoved() < mirror.store.size - first - count,
  });
  return { latencies, moved: countMoved() };
}
