import { setTimeout as sleep } from 'node:timers/promises';
import { step } from '../../testbed/step.ts';
import type { Row } from '../support/table.ts';
import { announcePush, type World } from '../support/world.ts';
import { startFleet } from './start-fleet.ts';

const NAME = 'previews';
/** One gateway in this number is changed by a commit. */
const CHANGED = 100;

/** Measures a preview by gateways whose reports arrive over 10 s. */
export async function measurePlayedPreview(world: World, gateways: number): Promise<Row[]> {
  const { repository, written, controller } = await startFleet(world, {
    name: NAME,
    gateways,
    rollout: { waves: [{ name: 'canary', selector: { matchLabels: { changes: 'true' } } }] },
    labelsOf: (index) => ({ changes: `${index % CHANGED === 0}` }),
    slownessMs: 10_000,
  });
  const before = written.length;
  const started = performance.now();
  await repository.commit({ files: { 'files/1/1.json': 'changed' } });
  await announcePush(world, NAME);
  const begun = () => written.slice(before).findIndex(({ rollout }) => rollout?.phase === 'Previewing');
  const ended = () =>
    written.slice(before).findIndex(({ rollout }, index) => index > begun() && rollout?.phase !== 'Previewing');
  await step('Previewing', async () => {
    while (begun() === -1 || ended() === -1) await sleep(5);
  });
  const seconds = (performance.now() - started) / 1000;
  const { reported = 0, unchanged = 0 } = written[before + ended()]?.rollout?.preview ?? {};
  await controller.stop();
  const what = `${gateways} gateways that preview a commit`;
  return [
    [`${what}: wait`, `${seconds.toFixed(1)} s`],
    [`${what}: reported, unchanged`, `${reported}, ${unchanged}`],
    [`${what}: writes of the GatewaySync`, `${ended() - begun() + 1}`, '≤ 5'],
  ];
}
