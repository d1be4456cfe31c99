import { setTimeout as sleep } from 'node:timers/promises';
import { step } from '../../testbed/step.ts';
import { readMemory } from '../support/process-usage.ts';
import { megabytes, type Row } from '../support/table.ts';
import { announcePush, type World } from '../support/world.ts';
import { startFleet } from './start-fleet.ts';

const NAME = 'waves';
const WAVES = 5;

/** Measures a rollout in five waves of a fifth each, a quarter of a wave at once, with a short soak. */
export async function measureRollout(world: World, gateways: number): Promise<Row[]> {
  const waves = Array.from({ length: WAVES }, (_, wave) => ({
    name: `wave-${wave}`,
    selector: { matchLabels: { wave: `${wave}` } },
    maxConcurrent: '25%',
    soak: '2s',
  }));
  const { repository, written, controller } = await startFleet(world, {
    name: NAME,
    gateways,
    rollout: { waves, previewTimeout: '0s' },
    labelsOf: (index) => ({ wave: `${index % WAVES}` }),
    slownessMs: 3_000,
  });
  const before = written.length;
  const started = performance.now();
  const commit = await repository.commit({ files: { 'files/1/1.json': 'changed' } });
  await announcePush(world, NAME);
  await step('Rolling out', async () => {
    const isDone = () => {
      const { rollout, gateways: counts } = written.at(-1) ?? {};
      return rollout?.stableCommit === commit && counts?.synced === gateways;
    };
    while (!isDone()) await sleep(5);
  });
  const seconds = (performance.now() - started) / 1000;
  const memory = megabytes(await readMemory(controller.pid));
  await controller.stop();
  const what = `${gateways} gateways in ${WAVES} waves`;
  return [
    [`${what}: complete rollout`, `${seconds.toFixed(1)} s`],
    [`${what}: writes of the GatewaySync per second`, ((written.length - before) / seconds).toFixed(2), '≤ 3'],
    [`${what}: memory of the controller (peak)`, memory],
  ];
}
