import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import type { RolloutSpec } from '../../../shared/api/rollout.ts';
import { step } from '../../testbed/step.ts';
import { inParallel } from '../support/in-parallel.ts';
import { mirrorResources } from '../support/mirror.ts';
import { PlayedFleet } from '../support/played-fleet.ts';
import { createResource, manyFiles, NAMESPACE, startController, type World } from '../support/world.ts';

const FILES = 200;

interface FleetOptions {
  name: string;
  gateways: number;
  rollout: RolloutSpec;
  /** Returns the labels of a gateway by its number. */
  labelsOf: (index: number) => Record<string, string>;
  /** The longest time until a simulated agent reports, in milliseconds. */
  slownessMs: number;
}

/** Starts a controller with a resource and simulated gateways, which all have the first commit. */
export async function startFleet(world: World, options: FleetOptions) {
  const { name, gateways, rollout, labelsOf, slownessMs } = options;
  const repository = await world.server.createRepository(name);
  await repository.commit({ files: manyFiles(FILES) });
  await createResource(world, { name, repo: repository.url, spec: { rollout } });
  const fleet = new PlayedFleet(world, slownessMs);
  await step(`Creating ${gateways} gateways`, () =>
    inParallel(gateways, 32, (index) =>
      fleet.add({ namespace: NAMESPACE, resource: name, name: `${name}-${index}`, labels: labelsOf(index) }),
    ),
  );
  /** Each write of the status. */
  const written: GatewaySyncStatus[] = [];
  await mirrorResources(world, (resource) => {
    if (resource.metadata.name !== name) return;
    written.push(resource.status ?? {});
    fleet.onResource(resource);
  });
  const controller = await startController(world);
  await step('The first sync', async () => {
    while (written.at(-1)?.gateways?.synced !== gateways) await sleep(5);
  });
  await sleep(2_000);
  return { repository, written, controller };
}
