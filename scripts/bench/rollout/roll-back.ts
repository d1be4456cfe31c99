import { setTimeout as sleep } from 'node:timers/promises';
import { ROLLOUT_ANNOTATIONS } from '../../../shared/api/names.ts';
import { step } from '../../testbed/step.ts';
import { startAgents } from '../agent/agents.ts';
import { untilApplied } from '../agent/until-applied.ts';
import type { Row } from '../support/table.ts';
import { untilStatus } from '../support/until-status.ts';
import { annotate, announcePush, createResource, manyFiles, startController, type World } from '../support/world.ts';

const NAME = 'back';
const FILES = 200;

/** Measures a rollback of real agents with the annotation, while their git server is down. */
export async function measureRollback(world: World, count: number): Promise<Row[]> {
  const repository = await world.server.createRepository(NAME);
  const first = await repository.commit({ files: manyFiles(FILES) });
  await createResource(world, { name: NAME, repo: repository.url, spec: { rollout: { previewTimeout: '0s' } } });
  const controller = await startController(world);
  const agents = await step(`Starting ${count} agents`, () => startAgents(world, NAME, { count, commit: first }));
  const second = await repository.commit({ files: { 'files/1/1.json': 'changed' } });
  await announcePush(world, NAME);
  await Promise.all(agents.map((agent) => untilApplied(agent.data, second)));
  await untilStatus(world, NAME, ({ rollout }) => rollout?.stableCommit === second);
  await sleep(3_000);
  world.server.fault = { hang: true };
  const started = performance.now();
  await annotate(world, NAME, { [ROLLOUT_ANNOTATIONS.rollback]: first });
  await Promise.all(agents.map((agent) => untilApplied(agent.data, first)));
  const onDisk = (performance.now() - started) / 1000;
  await untilStatus(world, NAME, ({ rollout }) => rollout?.phase === 'RolledBack');
  const reported = (performance.now() - started) / 1000;
  world.server.fault = undefined;
  await Promise.all([controller, ...agents.map(({ program }) => program)].map((program) => program.stop()));
  return [
    [`${count} agents roll back without their git server: on every disk`, `${onDisk.toFixed(1)} s`, '< 5 s'],
    [`${count} agents: the status is RolledBack`, `${reported.toFixed(1)} s`],
  ];
}
