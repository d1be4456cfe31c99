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
 * turns in who is first: the second one may get memory that is warm. What they write stays until the end: ext4 passes
 * over every inode that was deleted in the last minutes, so removing it would slow down whoever comes next.
 */
export async function measureFirstSyncs(world: World, count: number, times: number): Promise<Row[]> {
  const repository = await world.server.createRepository('first');
  const commit = await repository.commit({ files: filesOf(count) });
  const pairs: { sync: Cost; reference: Cost }[] = [];
  for (let time = 0; time < times; time += 1) {
    const name = `first-${time}`;
    const early = time % 2 === 1 ? await cloneAndCopy(world, { name, repository }) : undefined;
    const sync = await firstSync(world, { name, repository, commit });
    pairs.push({ sync, reference: early ?? (await cloneAndCopy(world, { name, repository })) });
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
    ['times as long as clone and cp', spanOf(pairs.map((pair) => pair.sync.ms / pair.reference.ms)), '≤ 1.8'],
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
  }
}

/** What it costs an agent that has just started to bring a commit in place. */
export async function timeFirstSync(
  world: World,
  agent: BenchAgent,
  { name, commit }: Pick<First, 'name' | 'commit'>,
): Promise<Cost> {
  await sleep(1_000); // it is ready, and has compiled what it needs
  await prepareMachine(world);
  const before = await readCpuSeconds(agent.program.pid);
  const started = await settle(world, name, commit);
  await untilApplied(agent, commit);
  const ms = performance.now() - started;
  return { ms, cpuSeconds: (await readCpuSeconds(agent.program.pid)) - before };
}

/** What a person would do instead. */
export async function cloneAndCopy(
  { folder }: Pick<World, 'folder'>,
  { name, repository }: Omit<First, 'commit'>,
): Promise<Cost> {
  const [clone, copy] = ['clone', 'copy'].map((part) => path.join(folder.path, `${part}-${name}`)) as [string, string];
  await prepareMachine({ folder });
  const started = performance.now();
  const script = 'git clone --quiet --depth=1 "$1" "$2" && cp -r "$2/files" "$3" && times';
  const times = await runCommand('sh', ['-c', script, 'sh', repository.url, clone, copy]);
  const ms = performance.now() - started;
  // The shell's own times come first, then those of what it ran: `0m0.15s 0m0.88s`.
  const spans = (times.trim().split('\n').at(-1) ?? '').matchAll(/(\d+)m([\d.]+)s/g);
  return { ms, cpuSeconds: Array.from(spans, ([, m, s]) => 60 * Number(m) + Number(s)).reduce((a, b) => a + b, 0) };
}

/** More than either side uses. */
const TOUCHED_BYTES = 512 * 1024 * 1024;

/**
 * What is not to count. An agent flushes the whole file system, with what others wrote to it before. And a virtual
 * machine may have given memory that nobody uses back to its host: to get it again takes longer than to write to it.
 */
async function prepareMachine({ folder }: Pick<World, 'folder'>): Promise<void> {
  await runCommand('sync', ['--file-system', folder.path]);
  const touch = `Buffer.alloc(${TOUCHED_BYTES}, 1)`;
  await runCommand(process.execPath, ['--eval', touch]);
}
