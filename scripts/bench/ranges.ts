import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';
import { corePath, gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { buildBundles } from '../demo/build-bundles.ts';
import type { GitRepository } from '../testbed/git-repository.ts';
import { runCommand } from '../testbed/run-command.ts';
import { step } from '../testbed/step.ts';
import { type Mirror, mirrorResources } from './support/mirror.ts';
import { readMemory } from './support/process-usage.ts';
import { readOptions } from './support/read-options.ts';
import { createRepositories } from './support/repositories.ts';
import { megabytes, percentiles, printTable } from './support/table.ts';
import { createResource, inWorld, NAMESPACE, startController, type World } from './support/world.ts';

const defaults = { tags: 20_000, requests: 50 };
/** The namespace of the resource with many tags; its neighbors are in the usual one, with another git server. */
const TENANT = 'tenant';
const NAME = 'releases';
const NEIGHBOR = 'neighbor';

/**
 * Measures what a range over many tags costs: the memory of the controller, and the time of requests of another
 * namespace to another git server while the repository is queried without a pause; `--tags 20000 --requests 50`.
 */
export async function run(args: string[]): Promise<void> {
  const size = readOptions(args, defaults);
  await buildBundles();
  await inWorld(async (world) => {
    await world.client.create(corePath('namespaces'), { metadata: { name: TENANT } });
    const many = await step(`Creating ${size.tags} tags`, () => createTags(world, size.tags));
    const [few] = await createRepositories(world.server, { repositories: 1, hosts: 1 });
    await createResource(world, { name: NEIGHBOR, repo: few?.url ?? '' });
    const mirror = await mirrorResources(world);
    const rows: string[][] = [];
    for (const git of [{ ref: 'main' }, { semver: '*' }])
      rows.push(await step(`Following ${Object.values(git)}`, () => measure(world, git, { many, mirror, ...size })));
    const whats = [
      'memory of the controller (peak)',
      'request of another namespace',
      'the same while the repository is queried without a pause',
    ];
    printTable(
      ['what', 'a branch', 'a range'],
      whats.map((what, index) => [what, ...rows.map((row) => row[index])]),
    );
  });
}

async function createTags({ server }: World, count: number): Promise<GitRepository> {
  const repository = await server.createRepository('many');
  const commit = await repository.commit({ files: { 'files/a': '1' } });
  const lines = Array.from(
    { length: count },
    (_, n) => `create refs/tags/v1.${Math.floor(n / 100)}.${n % 100} ${commit}\n`,
  );
  await runCommand('git', ['update-ref', '--stdin'], { cwd: repository.path, input: lines.join('') });
  await repository.git('pack-refs', '--all');
  return { ...repository, url: repository.url.replace('127.0.0.1', '127.0.0.2') };
}

type Given = typeof defaults & { many: GitRepository; mirror: Mirror };

/** Returns the memory, and the times of requests of the other namespace: alone, and during the load. */
async function measure(world: World, git: object, { many, mirror, requests }: Given): Promise<string[]> {
  const path = gatewaySyncPath(TENANT, NAME);
  await createResource(world, { name: NAME, namespace: TENANT, repo: '', spec: { git: { repo: many.url, ...git } } });
  const controller = await startController(world, { AUTO_BIND_AGENT: 'false' });
  const statusOf = (namespace: string, name: string) => mirror.store.get(`${namespace}/${name}`)?.status;
  while (statusOf(TENANT, NAME)?.lastSyncCommit === undefined) await sleep(20);
  /** Returns the milliseconds from a request, which causes a query, to the outcome in the status. */
  const ask = async (namespace: string, name: string) => {
    const id = randomUUID();
    const annotations = {
      [REQUEST_ANNOTATIONS.requestedRef]: 'v1',
      [REQUEST_ANNOTATIONS.requestId]: id,
      [REQUEST_ANNOTATIONS.requestedAt]: new Date().toISOString(),
    };
    await world.client.mergePatch(gatewaySyncPath(namespace, name), { metadata: { annotations } });
    const started = performance.now();
    while (statusOf(namespace, name)?.lastRequest?.id !== id) await sleep(1);
    return performance.now() - started;
  };
  const askNeighbor = async () => {
    const times: number[] = [];
    for (let index = 0; index < requests; index += 1) times.push(await ask(NAMESPACE, NEIGHBOR));
    return times;
  };
  const alone = await askNeighbor();
  let isOver = false;
  const loading = (async () => {
    while (!isOver) await ask(TENANT, NAME);
  })();
  const loaded = await askNeighbor();
  isOver = true;
  await loading;
  const memory = await readMemory(controller.pid);
  await controller.stop();
  await world.client.delete(path);
  while (mirror.store.has(`${TENANT}/${NAME}`)) await sleep(20);
  return [megabytes(memory), percentiles(alone), percentiles(loaded)];
}
