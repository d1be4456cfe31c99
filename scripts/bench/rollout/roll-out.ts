import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { step } from '../../testbed/step.ts';
import { inParallel } from '../support/in-parallel.ts';
import { mirrorResources } from '../support/mirror.ts';
import { PlayedFleet } from '../support/played-fleet.ts';
import { readMemory } from '../support/process-usage.ts';
import { megabytes, type Row } from '../support/table.ts';
import { announcePush, createResource, manyFiles, NAMESPACE, startController, type World } from '../support/world.ts';

const NAME = 'waves';
const WAVES = 5;
const FILES = 200;
/** The longest time until a simulated agent reports, in milliseconds. */
const SLOWNESS_MS = 3_000;

/** Measures a rollout in five waves of a fifth each, a quarter of a wave at once, with a short soak. */
export async function measureRollout(world: World, gateways: number): Promise<Row[]> {
  const repository = await world.server.createRepository(NAME);
  await repository.commit({ files: manyFiles(FILES) });
  const waves = Array.from({ length: WAVES }, (_, wave) => ({
    name: `wave-${wave}`,
    selector: { matchLabels: { wave: `${wave}` } },
    maxConcurrent: '25%',
    soak: '2s',
  }));
  await createResource(world, { name: NAME, repo: repository.url, spec: { rollout: { waves } } });
  const fleet = new PlayedFleet(world, SLOWNESS_MS);
  await step(`Creating ${gateways} gateways`, () =>
    inParallel(gateways, 32, (index) =>
      fleet.add({
        namespace: NAMESPACE,
        resource: NAME,
        name: `${NAME}-${index}`,
        labels: { wave: `${index % WAVES}` },
      }),
    ),
  );
  let status: GatewaySync['status'];
  let writes = 0;
  await mirrorResources(world, (resource) => {
    if (resource.metadata.name !== NAME) return;
    ({ status } = resource);
    writes += 1;
    fleet.onResource(resource);
  });
  const controller = await startController(world);
  await step('The first sync', async () => {
    while (status?.gateways?.synced !== gateways) await sleep(5);
  });
  await sleep(2_000);
  const before = writes;
  const started = performance.now();
  const commit = await repository.commit({ files: { 'files/1/1.json': 'changed' } });
  await announcePush(world, NAME);
  await step('Rolling out', async () => {
    while (status?.rollout?.stableCommit !== commit || status.gateways?.synced !== gateways) await sleep(5);
  });
  const seconds = (performance.now() - started) / 1000;
  const memory = megabytes(await readMemory(controller.pid));
  await controller.stop();
  const what = `${gateways} gateways in ${WAVES} waves`;
  return [
    [`${what}: complete rollout`, `${seconds.toFixed(1)} s`],
    [`${what}: writes of the GatewaySync per second`, ((writes - before) / seconds).toFixed(2), '≤ 3'],
    [`${what}: memory of the controller (peak)`, memory],
  ];
}
