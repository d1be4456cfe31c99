import { setTimeout as sleep } from 'node:timers/promises';
import { buildBundles } from '../demo/build-bundles.ts';
import { freePort } from '../testbed/free-port.ts';
import { step } from '../testbed/step.ts';
import { Deliveries } from './scale/deliveries.ts';
import { applyMix } from './scale/mix.ts';
import { type Replica, startControllerReplica, startReceiverReplica, untilLeader } from './scale/programs.ts';
import { type ColdStart, printMix, printStart, printTakeOvers } from './scale/report.ts';
import { defaultSize } from './scale/size.ts';
import { takeOver, untilHandled } from './scale/take-over.ts';
import { MemoryPeaks, measureUsage } from './scale/usage.ts';
import { fillWorld, type Resource, type ScaleWorld } from './scale/world.ts';
import { inParallel } from './support/in-parallel.ts';
import { type Mirror, mirrorResources } from './support/mirror.ts';
import { PlayedFleet } from './support/played-fleet.ts';
import { readOptions } from './support/read-options.ts';
import { inWorld } from './support/world.ts';

/** The longest time until a simulated agent reports, in milliseconds. */
const SLOWNESS_MS = 2_000;
/** Time for changes of the mix that are still in progress at its end, in milliseconds. */
const SETTLE_MS = 120_000;

/**
 * Runs everything at once: a leader, a spare, three receivers, and pushes, polls, edits, pods, and reports at constant
 * rates; `--resources 1000 --pods 2000 --repositories 50 --minutes 5`, and the other names of {@link defaultSize}.
 */
export async function run(args: string[]): Promise<void> {
  const size = readOptions(args, defaultSize);
  await buildBundles();
  await inWorld(async (world) => {
    const replicas: Replica[] = [];
    try {
      await measure(await fillWorld(world, size), replicas);
    } finally {
      await Promise.all(replicas.map((replica) => replica.stop()));
    }
  });
}

async function measure(world: ScaleWorld, replicas: Replica[]): Promise<void> {
  const { size } = world;
  const fleet = new PlayedFleet(world, SLOWNESS_MS);
  for (let n = 0; n < size.receivers; n += 1) replicas.push(await startReceiverReplica(world, `receiver-${n}`));
  const deliveries = new Deliveries([...replicas]);
  const mirror = await mirrorResources(world, (resource) => {
    deliveries.onResource(resource);
    fleet.onResource(resource);
  });
  await createPods(world, fleet, mirror);
  const { leader, spare, start } = await startControllers(world);
  replicas.push(leader, spare);
  printStart(world, start, replicas);
  const peaks = new MemoryPeaks(replicas);
  const quiet = await step('A quiet poll cycle', () => measureUsage(replicas, () => sleep(size.interval * 1000)));
  const from = Date.now();
  const reports = fleet.written;
  const mix = await step(`${size.minutes} minutes of everything`, () =>
    measureUsage(replicas, () => applyMix({ world, deliveries, fleet }, size.minutes * 60)),
  );
  const to = Date.now();
  await step('Waiting for deliveries that are not handled yet', () => untilHandled(deliveries, SETTLE_MS));
  peaks.stop();
  await printMix({
    world,
    replicas,
    deliveries,
    counts: mix.result,
    reports: fleet.written - reports,
    from,
    to,
    quiet: quiet.usage,
    mix: mix.usage,
    peaks,
  });
  const [killed, stopped] = await step('Two changes of the leader', () =>
    changeLeaders(world, deliveries, { leader, spare, replicas }),
  );
  printTakeOvers(killed, stopped, deliveries.unhandled.length);
}

/** Creates all pods through the admission webhook of a first controller, which is stopped when all are in sync. */
async function createPods(world: ScaleWorld, fleet: PlayedFleet, mirror: Mirror): Promise<void> {
  const { size, resources } = world;
  const controller = await startControllerReplica(world, 'controller', world.admissionPort);
  await untilLeader([controller]);
  await step(`Creating ${size.pods} pods`, () =>
    inParallel(size.pods, 32, async (index) => {
      const { namespace, name } = resources[index % resources.length] as Resource;
      await fleet.add({ namespace, resource: name, name: `gateway-${index}`, isUninjected: true });
    }),
  );
  await step('Waiting until all pods are in sync', async () => {
    const countSynced = () =>
      [...mirror.store.values()].reduce((sum, { status }) => sum + (status?.gateways?.synced ?? 0), 0);
    while (countSynced() < size.pods) await sleep(100);
  });
  await controller.stop();
}

/** Starts a leader and then a spare, after all objects exist. */
async function startControllers(world: ScaleWorld): Promise<{ leader: Replica; spare: Replica; start: ColdStart }> {
  const { requests } = world.server;
  requests.length = 0;
  const started = performance.now();
  const seconds = () => (performance.now() - started) / 1000;
  const leader = await startControllerReplica(world, 'controller-0', world.admissionPort);
  await untilLeader([leader]);
  const leads = seconds();
  await step('Waiting until all repositories are queried', async () => {
    const countQueried = () => new Set(requests.map(({ repository }) => repository)).size;
    while (countQueried() < world.repositories.length) await sleep(50);
  });
  const queriedAll = seconds();
  const spare = await startControllerReplica(world, 'controller-1', await freePort());
  return { leader, spare, start: { ready: leader.readyAfter, leads, queriedAll, spareReady: spare.readyAfter } };
}

/** Kills the leader, and then stops the next leader, with a new spare. */
async function changeLeaders(
  world: ScaleWorld,
  deliveries: Deliveries,
  { leader, spare, replicas }: { leader: Replica; spare: Replica; replicas: Replica[] },
) {
  const killed = await takeOver(world, deliveries, { stop: () => leader.kill(), spare });
  const another = await startControllerReplica(world, 'controller-2', await freePort());
  replicas.push(another);
  const stopped = await takeOver(world, deliveries, { stop: () => spare.stop(), spare: another });
  return [killed, stopped] as const;
}
