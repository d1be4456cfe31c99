import { setTimeout as sleep } from 'node:timers/promises';
import { REQUEST_ANNOTATIONS } from '../../../shared/api/names.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import type { GitRepository } from '../../testbed/git-repository.ts';
import type { Mirror } from '../../testbed/mirror-gateway-syncs.ts';
import { NAMESPACE, type World } from '../support/world.ts';

/** Resources that get a request, one at a time. */
export interface Requests {
  mirror: Mirror;
  /** Number of the first resource. */
  first: number;
  count: number;
  /** Returns whether to send another request. */
  goOn?: () => boolean;
}

async function requestTag({ client }: World, name: string, id: string): Promise<void> {
  const annotations = {
    [REQUEST_ANNOTATIONS.requestedRef]: 'v1',
    [REQUEST_ANNOTATIONS.requestId]: id,
    [REQUEST_ANNOTATIONS.requestedAt]: new Date().toISOString(),
  };
  await client.mergePatch(gatewaySyncPath(NAMESPACE, name), { metadata: { annotations } });
}

/** Measures the milliseconds from each request to the outcome in the status. */
export async function timeRequests(
  world: World,
  { mirror, first, count, goOn = () => true }: Requests,
): Promise<number[]> {
  const times: number[] = [];
  for (let index = first; index < first + count && goOn(); index += 1) {
    const name = `resource-${index}`;
    const id = `bench-${index}`;
    await requestTag(world, name, id);
    const started = performance.now();
    while (mirror.store.get(`${NAMESPACE}/${name}`)?.status?.lastRequest?.id !== id) await sleep(1);
    times.push(performance.now() - started);
  }
  return times;
}

/** Does the same while polls move all other resources to a new commit of their repository. */
export async function timeRequestsDuringPolls(
  world: World,
  repositories: GitRepository[],
  { mirror, first, count }: Requests,
): Promise<{ times: number[]; moved: number }> {
  const commits = new Set<string | undefined>();
  const countMoved = () =>
    [...mirror.store.values()].filter(({ status }) => commits.has(status?.lastSyncCommit)).length;
  for (const repository of repositories) commits.add(await repository.commit({ files: { 'files/a': '2' } }));
  while (countMoved() === 0) await sleep(5);
  const goOn = () => countMoved() < mirror.store.size - first - count;
  return { times: await timeRequests(world, { mirror, first, count, goOn }), moved: countMoved() };
}
