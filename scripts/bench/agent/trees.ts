import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GitRepository } from '../../testbed/git-repository.ts';
import { step } from '../../testbed/step.ts';
import { readCpuSeconds, readMemory } from '../support/process-usage.ts';
import { megabytes, quantile, type Row } from '../support/table.ts';
import { createResource, manyFiles, type World } from '../support/world.ts';
import { type BenchAgent, startAgent } from './agents.ts';
import { untilApplied } from './until-applied.ts';
import { untilReported } from './until-reported.ts';
import { writeStatus } from './write-status.ts';

export interface TreeOptions {
  changes: number;
  idleSeconds: number;
}

/** Measures one agent with a number of files: its first sync, changes of one file, and its resources at rest. */
export async function measureTree(world: World, files: number, options: TreeOptions): Promise<Row[]> {
  const name = `tree-${files}`;
  const repository = await world.server.createRepository(name);
  const commit = await repository.commit({ files: manyFiles(files) });
  await createResource(world, { name, repo: repository.url });
  const agent = await startAgent(world, { resource: name, pod: name });
  const first = await step(`${files} files: first sync`, async () => {
    const started = await writeStatus(world, name, commit);
    await untilApplied(agent.data, commit);
    return performance.now() - started;
  });
  await untilReported(world, name, commit);
  const times = await step(`${files} files: ${options.changes} changes`, () =>
    timeChanges(world, { name, repository, agent, changes: options.changes }),
  );
  const { cpuPercent, memory } = await step('At rest', () => measureIdle(agent, options.idleSeconds));
  await agent.program.stop();
  return [
    [`${files} files: first sync`, `${first.toFixed(0)} ms`],
    [`${files} files: one changed, status to file, p50`, `${quantile(times, 0.5).toFixed(0)} ms`],
    [`${files} files: the same, p99`, `${quantile(times, 0.99).toFixed(0)} ms`],
    [`${files} files: memory at rest (peak)`, megabytes(memory), files > 1_000 ? '< 120 MB' : '< 85 MB'],
    [`${files} files: CPU at rest`, `${cpuPercent.toFixed(2)} %`, '< 0.5 %'],
  ];
}

interface Changes {
  name: string;
  repository: GitRepository;
  agent: BenchAgent;
  changes: number;
}

async function timeChanges(world: World, { name, repository, agent, changes }: Changes): Promise<number[]> {
  const file = path.join(agent.data, 'files/1/1.json');
  const times: number[] = [];
  for (let change = 0; change < changes; change += 1) {
    const content = `{"change": ${change}}\n`;
    const commit = await repository.commit({ files: { 'files/1/1.json': content } });
    const started = await writeStatus(world, name, commit);
    while ((await readFile(file, 'utf8')) !== content) await sleep(1);
    times.push(performance.now() - started);
    // Otherwise the next change would wait for the end of this sync.
    await untilReported(world, name, commit);
  }
  return times;
}

async function measureIdle({ program: { pid } }: BenchAgent, seconds: number) {
  const before = await readCpuSeconds(pid);
  await sleep(seconds * 1000);
  const cpuPercent = ((await readCpuSeconds(pid)) - before) * (100 / seconds);
  return { cpuPercent, memory: await readMemory(pid) };
}
