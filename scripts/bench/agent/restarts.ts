import { quantile, type Row } from '../support/table.ts';
import { createResource, manyFiles, type World } from '../support/world.ts';
import { startAgent } from './agents.ts';
import { untilApplied } from './until-applied.ts';
import { untilReported } from './until-reported.ts';
import { writeStatus } from './write-status.ts';

/** Measures starts of agents with files in the volume and the git server down, until they report the commit. */
export async function measureRestarts(
  world: World,
  { files, restarts }: { files: number; restarts: number },
): Promise<Row[]> {
  const resource = 'restart';
  const repository = await world.server.createRepository(resource);
  const commit = await repository.commit({ files: manyFiles(files) });
  await createResource(world, { name: resource, repo: repository.url });
  await writeStatus(world, resource, commit);
  const first = await startAgent(world, { resource, pod: 'restart-first' });
  await untilApplied(first.data, commit);
  await first.program.stop();
  world.server.fault = { status: 503 };
  const seconds: number[] = [];
  for (let number = 0; number < restarts; number += 1) {
    const pod = `restart-${number}`;
    const started = performance.now();
    const { program } = await startAgent(world, { resource, pod, data: first.data });
    await untilReported(world, pod, commit);
    seconds.push((performance.now() - started) / 1000);
    await program.stop();
  }
  world.server.fault = undefined;
  const median = quantile(seconds, 0.5);
  const slowest = Math.max(...seconds);
  const measured = `${median.toFixed(2)}, ${slowest.toFixed(2)} s`;
  return [[`${files} files: restart without a git server, p50, slowest of ${restarts}`, measured, '≤ 2 s']];
}
