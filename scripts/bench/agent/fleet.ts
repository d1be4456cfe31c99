import { setTimeout as sleep } from 'node:timers/promises';
import { step } from '../../testbed/step.ts';
import { mirrorResources } from '../support/mirror.ts';
import type { Row } from '../support/table.ts';
import { announcePush, createResource, manyFiles, startController, type World } from '../support/world.ts';
import { startAgents } from './agents.ts';
import { untilApplied } from './until-applied.ts';

const NAME = 'fleet';
const FILES = 200;
/** Milliseconds for the last reports to reach the status. */
const SETTLE_MS = 3_000;

/** Measures many real agents with a real controller, from a push until the last one has the changed file. */
export async function measureFleet(world: World, count: number): Promise<Row[]> {
  const repository = await world.server.createRepository(NAME);
  const first = await repository.commit({ files: manyFiles(FILES) });
  await createResource(world, { name: NAME, repo: repository.url });
  const controller = await startController(world);
  const agents = await step(`Starting ${count} agents`, () => startAgents(world, NAME, { count, commit: first }));
  let writes = 0;
  await mirrorResources(world, ({ metadata }) => {
    if (metadata.name === NAME) writes += 1;
  });
  const commit = await repository.commit({ files: { 'files/1/1.json': 'changed' } });
  const before = writes;
  const started = performance.now();
  await announcePush(world, NAME);
  await Promise.all(agents.map((agent) => untilApplied(agent.data, commit)));
  const applied = (performance.now() - started) / 1000;
  await sleep(SETTLE_MS);
  const seconds = (performance.now() - started) / 1000;
  await Promise.all([controller, ...agents.map(({ program }) => program)].map((program) => program.stop()));
  return [
    [`${count} agents: one file changed on all`, `${applied.toFixed(1)} s`],
    [`${count} agents: writes of the GatewaySync per second`, ((writes - before) / seconds).toFixed(2), '≤ 1'],
  ];
}
