import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { ROLLOUT_ANNOTATIONS } from '../../shared/api/names.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { buildBundles } from '../demo/build-bundles.ts';
import { step } from '../testbed/step.ts';
import { filesOf } from './agent/sample-files.ts';
import { untilApplied } from './agent/until-applied.ts';
import {
  annotate,
  type BenchAgent,
  createResource,
  NAMESPACE,
  push,
  startAgent,
  startController,
  startWorld,
  stopWorld,
  type World,
} from './agent/world.ts';
import { readCpuSeconds, readMemory } from './process-usage.ts';
import { markReady, type PlayedFleet, playFleet } from './rollout/play-fleet.ts';
import { busiestSecond, StatusWrites } from './status-writes.ts';
import { printTable } from './table.ts';

type Row = [what: string, measured: string, aim: string];

interface Counts {
  gateways: number;
  agents: number;
}

const WAVES = 5;
const FILES = 200;
/** Agents whose first syncs run at once: their programs start then, too. */
const STARTING = 8;
/** Played agents report after at most so long. */
const SLOWNESS_MS = 3_000;

const parts: Record<string, (world: World, counts: Counts) => Promise<Row[]>> = {
  waves: measureWaves,
  window: measureWindow,
  back: measureWayBack,
};

/**
 * A rollout to many gateways whose agents are played, a window that opens, and real agents that go back without their
 * git host; `--gateways 1000 --agents 100 --only waves,window,back`.
 */
export async function run(options: string[]): Promise<void> {
  const { values } = parseArgs({
    args: options,
    options: {
      gateways: { type: 'string', default: '1000' },
      agents: { type: 'string', default: '100' },
      only: { type: 'string', default: Object.keys(parts).join() },
    },
  });
  await buildBundles();
  const counts = { gateways: Number(values.gateways), agents: Number(values.agents) };
  const rows: Row[] = [];
  for (const part of values.only.split(',')) {
    const world = await startWorld();
    try {
      rows.push(...((await parts[part]?.(world, counts)) ?? []));
    } finally {
      await stopWorld(world);
    }
  }
  printTable(['what', 'measured', 'aim'], rows);
}

async function until(fleet: PlayedFleet, accept: (status: NonNullable<GatewaySync['status']>) => boolean) {
  while (!accept(fleet.latest()?.status ?? {})) await sleep(5);
}

/** Five waves, each a fifth of the gateways by their labels, a quarter of the wave at once, and a short soak. */
async function measureWaves(world: World, { gateways }: Counts): Promise<Row[]> {
  const name = 'many';
  const repository = await world.server.createRepository(name);
  await repository.commit({ files: filesOf(FILES) });
  const waves = Array.from({ length: WAVES }, (_, wave) => ({
    ...{ name: `wave-${wave}`, selector: { matchLabels: { wave: `${wave}` } } },
    ...{ maxConcurrent: '25%', soak: '2s' },
  }));
  await createResource(world, name, repository.url, { rollout: { waves } });
  const labelsOf = (index: number) => ({ wave: `${index % WAVES}` });
  const fleet = await step(`Creating ${gateways} gateways`, () =>
    playFleet(world, { resource: name, count: gateways, labelsOf, slownessMs: SLOWNESS_MS }),
  );
  const controller = await startController(world);
  try {
    await until(fleet, ({ gateways: counts }) => counts?.synced === gateways);
    await sleep(2_000);
    const writes = new StatusWrites(world.client, { namespace: NAMESPACE, name });
    await sleep(500);
    const started = performance.now();
    const commit = await repository.commit({ files: { 'files/1/1.json': 'changed' } });
    await push(world, name);
    await step('Rolling out', () =>
      until(fleet, ({ rollout, gateways: counts }) => rollout?.stableCommit === commit && counts?.synced === gateways),
    );
    const seconds = (performance.now() - started) / 1000;
    const times = await writes.stop();
    const memory = await readMemory(controller.pid);
    const what = `${gateways} gateways in ${WAVES} waves`;
    return [
      [`${what}: status writes a second`, (times.length / seconds).toFixed(2), '≤ 3'],
      [`${what}: in the busiest second`, `${busiestSecond(times)}`, ''],
      [`${what}: all of it`, `${seconds.toFixed(1)} s`, ''],
      [`${what}: memory of the controller (peak)`, `${memory.now.toFixed(0)} (${memory.peak.toFixed(0)}) MB`, ''],
    ];
  } finally {
    fleet.stop();
    await controller.stop();
  }
}

const MINUTE_MS = 60_000;

/** A commit waits for a window, without polls; schedules are in minutes, so the next but one begins at most two from now. */
async function measureWindow(world: World): Promise<Row[]> {
  const name = 'window';
  const repository = await world.server.createRepository(name);
  const first = await repository.commit({ files: filesOf(FILES) });
  const opensAt = Math.ceil((Date.now() + 15_000) / MINUTE_MS) * MINUTE_MS;
  const [hour, minute] = [new Date(opensAt).getUTCHours(), new Date(opensAt).getUTCMinutes()];
  const windows = [{ kind: 'Allow', schedule: `${minute} ${hour} * * *`, duration: '1h' }];
  await createResource(world, name, repository.url, { rollout: { windows } });
  const fleet = await playFleet(world, { resource: name, count: 1, labelsOf: () => ({}), slownessMs: 0 });
  const controller = await startController(world);
  try {
    await until(fleet, ({ lastSyncCommit }) => lastSyncCommit === first);
    const commit = await repository.commit({ files: { 'files/1/1.json': 'changed' } });
    await push(world, name);
    await until(fleet, ({ rollout }) => rollout?.nextCommit === commit);
    if (Date.now() >= opensAt) throw new Error('the window was open before the commit waited');
    const requests = world.server.requests.length;
    await step('Waiting for the window', () => until(fleet, ({ rollout }) => rollout?.commit === commit));
    const took = Date.now() - opensAt;
    const asked = world.server.requests.length - requests;
    return [
      ['a window opens: to the status that admits', `${took} ms`, '≤ 5,000 ms'],
      ['questions to the git host meanwhile', `${asked}`, '0'],
    ];
  } finally {
    fleet.stop();
    await controller.stop();
  }
}

/** Real agents, whose git host is off when somebody sets the annotation. */
async function measureWayBack(world: World, { agents: count }: Counts): Promise<Row[]> {
  const name = 'back';
  const repository = await world.server.createRepository(name);
  const first = await repository.commit({ files: filesOf(FILES) });
  await createResource(world, name, repository.url, { rollout: {} });
  const controller = await startController(world);
  const agents: BenchAgent[] = [];
  try {
    while (agents.length < count) agents.push(...(await startSome(world, name, { from: agents.length, count, first })));
    const second = await repository.commit({ files: { 'files/1/1.json': 'changed' } });
    await push(world, name);
    await Promise.all(agents.map((agent) => untilApplied(agent, second)));
    await untilStatus(world, name, (status) => status.rollout?.stableCommit === second);
    await sleep(3_000);
    world.server.fault = { hang: true };
    const [started, cpu] = [performance.now(), await cpuSecondsOf(agents)];
    await annotate(world, name, { [ROLLOUT_ANNOTATIONS.rollback]: first });
    await Promise.all(agents.map((agent) => untilApplied(agent, first)));
    const onDisk = (performance.now() - started) / 1000;
    const each = ((await cpuSecondsOf(agents)) - cpu) / count;
    await untilStatus(world, name, ({ rollout }) => rollout?.phase === 'RolledBack');
    const told = (performance.now() - started) / 1000;
    return [
      [`${count} agents back without their git host: on every disk`, `${onDisk.toFixed(1)} s`, '< 5 s'],
      [`${count} agents: processor time of each until then`, `${(each * 1000).toFixed(0)} ms`, ''],
      [`${count} agents: the status says so`, `${told.toFixed(1)} s`, ''],
    ];
  } finally {
    world.server.fault = undefined;
    await Promise.all([controller, ...agents.map(({ program }) => program)].map((program) => program.stop()));
  }
}

async function cpuSecondsOf(agents: BenchAgent[]): Promise<number> {
  const seconds = await Promise.all(agents.map(({ program }) => readCpuSeconds(program.pid)));
  return seconds.reduce((sum, each) => sum + each, 0);
}

interface Some {
  from: number;
  count: number;
  first: string;
}

async function startSome(world: World, name: string, { from, count, first }: Some): Promise<BenchAgent[]> {
  const numbers = Array.from({ length: Math.min(STARTING, count - from) }, (_, n) => from + n);
  const agents = await Promise.all(
    numbers.map(async (n) => {
      const agent = await startAgent(world, name, `${name}-${n}`);
      await markReady(world, NAMESPACE, `${name}-${n}`);
      return agent;
    }),
  );
  await Promise.all(agents.map((agent) => untilApplied(agent, first)));
  return agents;
}

async function untilStatus(
  { client }: World,
  name: string,
  accept: (status: NonNullable<GatewaySync['status']>) => boolean,
): Promise<void> {
  for (;;) {
    const { status = {} } = await client.get<GatewaySync>(gatewaySyncPath(NAMESPACE, name));
    if (accept(status)) return;
    await sleep(50);
  }
}
