import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GitRepository } from '../../testbed/git-repository.ts';
import { runCommand } from '../../testbed/run-command.ts';
import { readCpuSeconds } from '../process-usage.ts';
import { quantile } from '../table.ts';
import { filesOf } from './sample-files.ts';
import { untilApplied } from './until-applied.ts';
import { type BenchAgent, createResource, settle, startAgent, type World } from './world.ts';

/** How long something took, and the processor time of that. */
export interface Cost {
  ms: number;
  cpuSeconds: number;
}

type Row = [what: string, measured: string, aim: string];

/**
 * First syncs of new agents, each next to what a person would do instead, since the speed of a machine varies. They take
 * turns in who is first: the second one may get memory that is warm.
 */
export async function measureFirstSyncs(world: World, count: number, times: number): Promise<Row[]> {
  const repository = await world.server.createRepository('first');
  const commit = await repository.commit({ files: filesOf(count) });
  const pairs: { sync: Cost; reference: Cost }[] = [];
  for (let time = 0; time < times; time += 1) {
    const early = time % 2 === 1 ? await cloneAndCopy(world, repository) : undefined;
    const sync = await firstSync(world, { name: `first-${time}`, repository, commit });
    pairs.push({ sync, reference: early ?? (await cloneAndCopy(world, repository)) });
  }
  const [sync, reference] = [pairs.map((each) => each.sync), pairs.map((each) => each.reference)];
  return [
    [
      `${count} files: first sync`,
      spanOf(sync.map(({ ms }) => ms / 1000)),
      spanOf(reference.map(({ ms }) => ms / 1000)),
    ],
    [
      'processor time without git',
      spanOf(sync.map((each) => each.cpuSeconds)),
      spanOf(reference.map((each) => each.cpuSeconds)),
    ],
    ['times as long as clone and cp', spanOf(pairs.map((pair) => pair.sync.ms / pair.reference.ms)), '1'],
  ];
}

/** The median, and the least and the most. */
function spanOf(values: number[]): string {
  return `${quantile(values, 0.5).toFixed(2)} (${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)})`;
}

interface First {
  name: string;
  repository: GitRepository;
  commit: string;
}

async function firstSync(world: World, { name, repository, commit }: First): Promise<Cost> {
  await createResource(world, name, repository.url);
  const agent = await startAgent(world, name, name);
  try {
    return await timeFirstSync(world, agent, { name, commit });
  } finally {
    await agent.program.stop();
    await rm(path.dirname(agent.data), { recursive: true });
  }
}

/** What it costs an agent that has just started to bring a commit in place. */
export async function timeFirstSync(
  world: World,
  agent: BenchAgent,
  { name, commit }: Pick<First, 'name' | 'commit'>,
): Promise<Cost> {
  await sleep(1_000); // it is ready, and has compiled what it needs
  const before = await readCpuSeconds(agent.program.pid);
  const started = performance.now();
  await settle(world, name, commit);
  await untilApplied(agent, commit);
  const ms = performance.now() - started;
  return { ms, cpuSeconds: (await readCpuSeconds(agent.program.pid)) - before };
}

/** What a person would do instead. */
export async function cloneAndCopy({ folder }: World, { url }: GitRepository): Promise<Cost> {
  const [clone, copy] = [path.join(folder.path, 'reference'), path.join(folder.path, 'copy')];
  const started = performance.now();
  const script = 'git clone --quiet --depth=1 "$1" "$2" && cp -r "$2/files" "$3" && times';
  const times = await runCommand('sh', ['-c', script, 'sh', url, clone, copy]);
  const ms = performance.now() - started;
  await runCommand('rm', ['-rf', clone, copy]);
  // The shell's own times come first, then those of what it ran: `0m0.15s 0m0.88s`.
  const spans = (times.trim().split('\n').at(-1) ?? '').matchAll(/(\d+)m([\d.]+)s/g);
  return { ms, cpuSeconds: Array.from(spans, ([, m, s]) => 60 * Number(m) + Number(s)).reduce((a, b) => a + b, 0) };
}
