import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { buildBundles } from '../demo/build-bundles.ts';
import { freePort } from '../testbed/free-port.ts';
import { step } from '../testbed/step.ts';
import { readApiMetrics } from './scale/api-calls.ts';
import { Deliveries } from './scale/deliveries.ts';
import { type FetchFleet, prepareFetchFleet } from './scale/fetch-fleet.ts';
import { Gateways, podsOfEach } from './scale/gateways.ts';
import { type Mirror, mirrorResources, openWatches, untilSettled } from './scale/mirror.ts';
import { applyMix, type MixCounts } from './scale/mix.ts';
import { type Program, startController, startReceiver, untilLeader } from './scale/programs.ts';
import { printMix, printStart, printTakeOvers } from './scale/report.ts';
import type { Burst, Span, TakeOvers } from './scale/results.ts';
import { takeOver, untilHandled } from './scale/take-over.ts';
import { apiServerMemory, MemoryWatch, readCpuTimes } from './scale/usage.ts';
import { installWebhook, makeWorld, type Resource, type Size, type World } from './scale/world.ts';

const defaults = {
  ...{ resources: 10_000, pods: 20_000, repositories: 500, namespaces: 50, hosts: 10, minutes: 10, interval: 60 },
  ...{ pushes: 12, commits: 4, releases: 60, edits: 30, churn: 60, receivers: 3, agents: 300, watches: 1_000 },
  memory: 256,
} satisfies Size;

/** What is still under way after the mix has so long to end, in milliseconds. */
const SETTLE_MS = 120_000;
const START_MS = 600_000;

/**
 * Everything at once: a leader and a spare, three receivers, and pushes, polls, edits, pods and reports at constant
 * rates; `--resources 10000 --pods 20000 --repositories 500 --minutes 10`, and the other names of {@link Size}.
 */
export async function run(args: string[]): Promise<void> {
  const names = Object.keys(defaults) as (keyof Size)[];
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  const { values } = parseArgs({ args, options });
  const size: Size = { ...defaults };
  for (const name of names) size[name] = Number(values[name] ?? size[name]);
  if (size.repositories < 2)
    throw new Error('--repositories must be 2 or more: the first is for the agents that fetch');
  if (size.pods % size.resources !== 0) throw new Error('--pods must be a multiple of --resources');
  await buildBundles();
  const world = await makeWorld(size);
  const running: Running = { programs: [], ending: new AbortController(), fleet: undefined };
  try {
    await measure(world, running);
  } finally {
    running.ending.abort();
    await Promise.all(running.programs.map((program) => program.stop()));
    await running.fleet?.stop();
    await Promise.all([world.server.stop(), world.cluster.stop()]);
  }
}

interface Running {
  programs: Program[];
  ending: AbortController;
  fleet: FetchFleet | undefined;
}

async function measure(world: World, running: Running): Promise<void> {
  const { size, cluster } = world;
  const { programs, ending } = running;
  const gateways = new Gateways(world);
  await gateways.createFirst();
  for (let n = 0; n < size.receivers; n += 1) programs.push(await startReceiver(world, `receiver-${n}`));
  const deliveries = new Deliveries([...programs]);
  const mirror = await mirrorResources(
    world,
    (resource) => {
      deliveries.onResource(resource);
      gateways.onResource(resource);
    },
    ending.signal,
  );
  gateways.play((key) => mirror.store.get(key as `${string}/${string}`), ending.signal);
  await step('Reconciling the first resource', () => reconcileFirst(world, mirror));
  await step(`Copying it ${size.resources} times`, async () => {
    await gateways.replicate();
    await untilSettled(size, mirror, START_MS);
  });
  const memory = new MemoryWatch(programs);
  const { pair, start } = await startControllers(world, programs);
  const quiet = await step('A quiet poll cycle', () => measureSpan(world, programs, () => sleep(size.interval * 1000)));
  const before = await apiServerMemory(cluster);
  await step(`Opening ${size.watches} watches`, () => openWatches(world, ending.signal));
  const watchesMb = (await apiServerMemory(cluster)) - before;
  const calm = { world, programs, start, watchesMb, quiet, peaks: memory.peaks };
  printStart(calm);
  const shared = world.resources.filter(({ repository }) => repository === world.repositories[0]);
  if (size.agents > 0) {
    running.fleet = await step(`Preparing clones of ${size.agents} agents`, () =>
      prepareFetchFleet(world.repositories[0] as World['repositories'][0], size.agents),
    );
    await step('Settling', async () => {
      for (const resource of shared) await deliveries.push(resource);
      await untilSettled(size, mirror, SETTLE_MS);
    });
  }
  const seconds = size.minutes * 60;
  const [from, reports] = [Date.now(), gateways.written];
  let counts: MixCounts | undefined;
  let burst: Burst | undefined;
  const mix = await step(`${size.minutes} minutes of everything`, () =>
    measureSpan(world, programs, async () => {
      [counts, burst] = await Promise.all([
        applyMix({ world, deliveries, gateways }, seconds),
        sleep(seconds * 500).then(() => fetchInMany({ world, deliveries, mirror, shared }, running.fleet)),
      ]);
    }),
  );
  const to = Date.now();
  await step('Waiting for what is not handled yet', () => untilHandled(deliveries, SETTLE_MS));
  memory.stop();
  printMix({
    ...calm,
    ...{ deliveries, burst },
    mix: { ...mix, counts: counts as MixCounts, from, to, reports: gateways.written - reports },
    lost: deliveries.unhandled.length,
  });
  await step('Settling', () => untilSettled(size, mirror, SETTLE_MS));
  printTakeOvers(await step('Two changes of the leader', () => changeLeaders(world, deliveries, { programs, pair })));
}

/** The first resource goes the whole way by the API server, so that the others can be copies of it. */
async function reconcileFirst(world: World, mirror: Mirror): Promise<void> {
  await installWebhook(world);
  const controller = await startController(world, 'controller', world.admissionPort);
  await untilSettled({ resources: 1, pods: podsOfEach(world.size) }, mirror, START_MS);
  await controller.stop();
}

async function startControllers(world: World, programs: Program[]) {
  const { server, repositories } = world;
  server.requests.length = 0;
  const started = performance.now();
  const seconds = () => (performance.now() - started) / 1000;
  const leader = await step('Starting a controller', () => startController(world, 'controller-0', world.admissionPort));
  programs.push(leader);
  const ready = leader.readyAfterMs / 1000;
  await untilLeader([leader]);
  const leads = seconds();
  const asked = () => new Set(server.requests.map(({ repository }) => repository)).size;
  await step('Waiting until all repositories are asked', async () => {
    while (asked() < repositories.length && seconds() < START_MS / 1000) await sleep(50);
  });
  const askedAll = seconds();
  const spare = await startController(world, 'controller-1', await freePort());
  programs.push(spare);
  return { pair: [leader, spare], start: { ready, leads, askedAll, standbyReady: spare.readyAfterMs / 1000 } };
}

async function measureSpan({ cluster }: World, programs: Program[], work: () => Promise<void>): Promise<Span> {
  const look = async () => ({ cpu: await readCpuTimes(programs, cluster), api: await readApiMetrics(cluster) });
  const [before, started] = [await look(), performance.now()];
  await work();
  const seconds = (performance.now() - started) / 1000;
  const after = await look();
  return { seconds, cpu: { before: before.cpu, after: after.cpu }, api: { before: before.api, after: after.api } };
}

interface BurstParts {
  world: World;
  deliveries: Deliveries;
  mirror: Mirror;
  /** Resources of the repository whose commit is fetched. */
  shared: Resource[];
}

async function fetchInMany(
  { world, deliveries, mirror, shared }: BurstParts,
  fleet: FetchFleet | undefined,
): Promise<Burst | undefined> {
  const [first] = shared;
  if (!fleet || !first) return undefined;
  const commit = await world.repositories[0]?.commit({ files: { 'files/1/1.json': 'changed' } });
  const from = performance.now();
  for (const resource of shared) void deliveries.push(resource);
  const key = first.key as `${string}/${string}`;
  const deadline = from + SETTLE_MS;
  while (mirror.store.get(key)?.status?.lastSyncCommit !== commit && performance.now() < deadline) await sleep(5);
  const resolvedAfter = (performance.now() - from) / 1000;
  const taken = await fleet.fetch(commit ?? '');
  return { from, to: performance.now(), resolvedAfter, fetchedAfter: taken.map((each) => each + resolvedAfter) };
}

/** The leader is killed, and the one that takes over is told to stop, with a spare that has just started. */
async function changeLeaders(
  world: World,
  deliveries: Deliveries,
  { programs, pair }: { programs: Program[]; pair: Program[] },
): Promise<TakeOvers> {
  const leader = await untilLeader(pair);
  const spare = pair.find((program) => program !== leader) as Program;
  const killed = await takeOver(world, deliveries, { end: () => leader.kill(), spares: [spare] });
  const another = await startController(world, 'controller-2', await freePort());
  programs.push(another);
  const told = await takeOver(world, deliveries, { end: () => spare.stop(), spares: [another] });
  return { killed, told, readyAgain: another.readyAfterMs / 1000, lost: deliveries.unhandled.length };
}
