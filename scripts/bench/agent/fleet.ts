import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GitRepository } from '../../testbed/git-repository.ts';
import { runCommand } from '../../testbed/run-command.ts';
import { StatusWrites } from '../status-writes.ts';
import { filesOf } from './sample-files.ts';
import { untilApplied } from './until-applied.ts';
import { type BenchAgent, createResource, NAMESPACE, push, startAgent, startController, type World } from './world.ts';

const NAME = 'fleet';
const FILES = 200;
/** Agents whose first syncs run at once: their programs start then, too. */
const STARTING = 8;
/** Time for the last reports to reach the status. */
const SETTLE_MS = 3_000;

/** As many agents as gateways with a real controller, against as many bare fetches of the commit. */
export async function measureFleet(world: World, count: number): Promise<[string, string, string][]> {
  const repository = await world.server.createRepository(NAME);
  const first = await repository.commit({ files: filesOf(FILES) });
  await createResource(world, NAME, repository.url);
  const controller = await startController(world);
  const agents: BenchAgent[] = [];
  try {
    while (agents.length < count) agents.push(...(await startSome(world, agents.length, count, first)));
    const commit = await repository.commit({ files: { 'files/1/1.json': 'changed' } });
    const bare = await bareFetches(world, repository, { count, first, commit });
    const writes = new StatusWrites(world.client, { namespace: NAMESPACE, name: NAME });
    const started = performance.now();
    await push(world, NAME);
    await Promise.all(agents.map((agent) => untilApplied(agent, commit)));
    const took = performance.now() - started;
    await sleep(SETTLE_MS);
    const seconds = (performance.now() - started) / 1000;
    return [
      [
        `${count} agents: one file changed, all in place`,
        `${(took / 1000).toFixed(1)} s`,
        `≤ ${((3 * bare) / 1000).toFixed(1)} s (bare fetches, three times)`,
      ],
      [`${count} agents: status writes a second`, ((await writes.stop()).length / seconds).toFixed(2), '≤ 1'],
    ];
  } finally {
    await Promise.all([controller, ...agents.map(({ program }) => program)].map((program) => program.stop()));
  }
}

async function startSome(world: World, from: number, count: number, commit: string): Promise<BenchAgent[]> {
  const numbers = Array.from({ length: Math.min(STARTING, count - from) }, (_, n) => from + n);
  const agents = await Promise.all(numbers.map((n) => startAgent(world, NAME, `${NAME}-${n}`)));
  await Promise.all(agents.map((agent) => untilApplied(agent, commit)));
  return agents;
}

interface BareFetches {
  count: number;
  first: string;
  commit: string;
}

async function bareFetches(
  { folder }: World,
  { url }: GitRepository,
  { count, first, commit }: BareFetches,
): Promise<number> {
  const clones = Array.from({ length: count }, (_, n) => path.join(folder.path, `bare-${n}`));
  const fetch = (clone: string, id: string) =>
    runCommand('git', [`--git-dir=${clone}`, 'fetch', '--quiet', '--depth=1', url, id]);
  for (const clone of clones) {
    await runCommand('git', ['init', '--quiet', '--bare', clone]);
    await fetch(clone, first);
  }
  const started = performance.now();
  await Promise.all(clones.map((clone) => fetch(clone, commit)));
  return performance.now() - started;
}
