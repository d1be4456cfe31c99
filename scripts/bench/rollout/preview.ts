import { setTimeout as sleep } from 'node:timers/promises';
import { ROLLOUT_ANNOTATIONS } from '../../../shared/api/names.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { step } from '../../testbed/step.ts';
import { startAgents } from '../agent/agents.ts';
import { untilApplied } from '../agent/until-applied.ts';
import type { Row } from '../support/table.ts';
import { untilStatus } from '../support/until-status.ts';
import {
  annotate,
  announcePush,
  createResource,
  manyFiles,
  NAMESPACE,
  startController,
  type World,
} from '../support/world.ts';

const NAME = 'preview';
const FILES = 200;
const WAVES = [{ name: 'canary', gateways: 1, approval: true }];

/** Measures a commit that real agents sync, one that they preview, and the delivery of the latter. */
export async function measurePreview(world: World, count: number): Promise<Row[]> {
  const repository = await world.server.createRepository(NAME);
  const first = await repository.commit({ files: manyFiles(FILES) });
  await createResource(world, { name: NAME, repo: repository.url });
  const controller = await startController(world);
  const agents = await step(`Starting ${count} agents`, () => startAgents(world, NAME, { count, commit: first }));
  const untilAllHave = (commit: string) => Promise.all(agents.map((agent) => untilApplied(agent.data, commit)));
  const change = (content: string) => repository.commit({ files: { 'files/1/1.json': content } });

  const second = await change('2');
  const synced = await measureLoad(world, async () => {
    await announcePush(world, NAME);
    await untilAllHave(second);
  });
  await world.client.mergePatch(gatewaySyncPath(NAMESPACE, NAME), { spec: { rollout: { waves: WAVES } } });
  await untilStatus(world, NAME, ({ rollout }) => rollout?.phase === 'Complete' && rollout.stableCommit === second);
  await sleep(3_000);

  const third = await change('3');
  const previewed = await measureLoad(world, async () => {
    await announcePush(world, NAME);
    await untilStatus(
      world,
      NAME,
      ({ rollout }) => rollout?.preview?.commit === third && rollout.preview.reported === count,
    );
  });
  const delivered = await measureLoad(world, async () => {
    await annotate(world, NAME, { [ROLLOUT_ANNOTATIONS.approve]: third });
    await untilAllHave(third);
  });
  await Promise.all([controller, ...agents.map(({ program }) => program)].map((program) => program.stop()));
  return [
    [`${count} agents sync a commit without a rollout`, synced],
    [`${count} agents preview a commit`, previewed],
    [`${count} agents sync a commit after the preview, in two waves`, delivered],
  ];
}

/** Returns the duration of some work, and the load of the git server. */
async function measureLoad({ server }: World, work: () => Promise<void>): Promise<string> {
  let bytes = 0;
  server.redirect = (_, response) => {
    const { socket } = response;
    const before = socket?.bytesWritten ?? 0;
    response.once('close', () => {
      bytes += (socket?.bytesWritten ?? before) - before;
    });
  };
  server.requests.length = 0;
  const started = performance.now();
  await work();
  const seconds = (performance.now() - started) / 1000;
  server.redirect = undefined;
  const fetches = server.requests.filter(({ command }) => command === 'fetch').length;
  const kib = Math.round(bytes / 1024);
  return `${seconds.toFixed(1)} s, ${server.requests.length} requests (${fetches} fetches), ${kib} KiB`;
}
