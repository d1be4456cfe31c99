import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { buildBundles } from '../demo/build-bundles.ts';
import type { GitRepository } from '../testbed/git-repository.ts';
import { cloneAndCopy, measureFirstSyncs, timeFirstSync } from './agent/first-syncs.ts';
import { measureFleet } from './agent/fleet.ts';
import { measureRestarts } from './agent/restarts.ts';
import { filesOf } from './agent/sample-files.ts';
import {
  type BenchAgent,
  createResource,
  settle,
  startAgent,
  startWorld,
  stopWorld,
  type World,
} from './agent/world.ts';
import { readCpuSeconds, readMemory } from './process-usage.ts';
import { printTable, quantile } from './table.ts';

type Row = [what: string, measured: string, aim: string];

const [SMALL, LARGE] = [200, 20_000];

/**
 * Changes of one file among few and among many, first syncs, idling, a fleet; `--changes 20 --idle-seconds 60
 * --agents 100 --only trees,fleet`. With `--only first --times 5` nothing but first syncs, in turns with clone and cp;
 * `--only restart` starts pods on a volume that has the files while the git server is down.
 */
export async function run(options: string[]): Promise<void> {
  const { values } = parseArgs({
    args: options,
    options: {
      changes: { type: 'string', default: '20' },
      'idle-seconds': { type: 'string', default: '60' },
      agents: { type: 'string', default: '100' },
      times: { type: 'string', default: '5' },
      only: { type: 'string', default: 'trees,fleet' },
    },
  });
  const lengths = { changes: Number(values.changes), idleSeconds: Number(values['idle-seconds']) };
  await buildBundles();
  const world = await startWorld();
  try {
    const parts = values.only.split(',');
    const rows = parts.includes('trees') ? await measureTrees(world, lengths) : [];
    if (parts.includes('first')) rows.push(...(await measureFirstSyncs(world, LARGE, Number(values.times))));
    if (parts.includes('restart')) rows.push(...(await measureRestarts(world, LARGE, Number(values.times))));
    if (parts.includes('fleet')) rows.push(...(await measureFleet(world, Number(values.agents))));
    printTable(['what', 'measured', 'aim'], rows);
  } finally {
    await stopWorld(world);
  }
}

async function measureTrees(world: World, lengths: Lengths): Promise<Row[]> {
  const small = await measureTree(world, SMALL, lengths);
  const large = await measureTree(world, LARGE, lengths);
  const ratio = `${(large.median / small.median).toFixed(1)} times`;
  return [...small.rows, ...large.rows, [`one of ${LARGE} against one of ${SMALL}`, ratio, '≤ 1.5 times']];
}

interface Lengths {
  changes: number;
  idleSeconds: number;
}

async function measureTree(
  world: World,
  count: number,
  { changes, idleSeconds }: Lengths,
): Promise<{ rows: Row[]; median: number }> {
  const name = `tree-${count}`;
  const repository = await world.server.createRepository(name);
  const commit = await repository.commit({ files: filesOf(count) });
  await createResource(world, name, repository.url);
  const agent = await startAgent(world, name, name);
  const first = await timeFirstSync(world, agent, { name, commit });
  const reference = await cloneAndCopy(world, { name, repository });
  const times = await measureChanges(world, { name, repository, agent, changes });
  const [median, p99] = [quantile(times, 0.5), quantile(times, 0.99)];
  const idle = await measureIdle(agent, idleSeconds);
  await agent.program.stop();
  return {
    median,
    rows: [
      [
        `${count} files: first sync`,
        `${first.ms.toFixed(0)} ms`,
        count === LARGE ? `≤ ${(1.8 * reference.ms).toFixed(0)} ms (1.8 times clone and cp -r)` : '',
      ],
      [
        `${count} files: first sync, processor time without git`,
        `${first.cpuSeconds.toFixed(2)} s`,
        count === LARGE ? `${reference.cpuSeconds.toFixed(2)} s (clone and cp -r)` : '',
      ],
      [`${count} files: one changed, status to file, p50`, `${median.toFixed(0)} ms`, ''],
      [`${count} files: the same, p99`, `${p99.toFixed(0)} ms`, ''],
      [
        `${count} files: memory at rest (peak)`,
        `${idle.memory.now.toFixed(0)} (${idle.memory.peak.toFixed(0)}) MB`,
        count === LARGE ? '< 120 MB' : '< 85 MB',
      ],
      [`${count} files: processor at rest`, `${idle.cpuPercent.toFixed(2)} %`, '< 0.5 %'],
    ],
  };
}

interface Changes {
  name: string;
  repository: GitRepository;
  agent: BenchAgent;
  changes: number;
}

async function measureChanges(world: World, { name, repository, agent, changes }: Changes): Promise<number[]> {
  const file = path.join(agent.data, 'files/1/1.json');
  const times: number[] = [];
  for (let change = 0; change < changes; change += 1) {
    const content = `{"change": ${change}}\n`;
    const commit = await repository.commit({ files: { 'files/1/1.json': content } });
    const started = await settle(world, name, commit);
    while ((await readFile(file, 'utf8')) !== content) await sleep(1);
    times.push(performance.now() - started);
    await sleep(100);
  }
  return times;
}

async function measureIdle({ program: { pid } }: BenchAgent, seconds: number) {
  const before = await readCpuSeconds(pid);
  await sleep(seconds * 1000);
  const cpuPercent = ((await readCpuSeconds(pid)) - before) * (100 / seconds);
  return { cpuPercent, memory: await readMemory(pid) };
}
