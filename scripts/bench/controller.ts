import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { buildBundles } from '../demo/build-bundles.ts';
import type { RunningProgram } from '../demo/programs.ts';
import { freePort } from '../testbed/free-port.ts';
import { step } from '../testbed/step.ts';
import { startHostileTenant } from './controller/hostile-tenant.ts';
import { measureMemory } from './controller/measure-memory.ts';
import { measureRequests, measureRequestsInFlood } from './controller/measure-requests.ts';
import { readMetric, readWrites, startController } from './controller/start-controller.ts';
import { makeWorld, patchDirectly, type Scale, type World } from './controller/world.ts';
import { readCpuSeconds, readMemory } from './process-usage.ts';
import { printTable, quantile } from './table.ts';

const defaults = { resources: 1000, repositories: 1, hosts: 1, pods: 0, requests: 100, interval: 60 } satisfies Scale;

/** For how long the requests of others are measured while a hostile tenant is at work, in seconds. */
const HOSTILE_SECONDS = 60;

const crowd = {
  ...defaults,
  resources: 10_000,
  repositories: 20,
  hosts: 20,
  pods: 20_000,
  interval: 300,
} satisfies Scale;

/**
 * Resources from cold, a quiet poll cycle, requests: alone, over a poll cycle, in a flood; `--resources 1000 --repositories 1
 * --hosts 1 --pods 0`. With `--hostile`: requests alone, and next to a hostile tenant. With `--memory`: what 10,000
 * resources and 20,000 pods take in 128 MiB.
 */
export async function run(options: string[]): Promise<void> {
  const names = Object.keys(defaults) as (keyof Scale)[];
  const { values } = parseArgs({
    args: options,
    options: {
      hostile: { type: 'boolean' },
      memory: { type: 'boolean' },
      ...Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])),
    },
  });
  const given = values as Partial<Record<keyof Scale, string>> & { hostile?: boolean; memory?: boolean };
  const scale: Scale = { ...(given.memory ? crowd : defaults) };
  for (const name of names) scale[name] = Number(given[name] ?? scale[name]);
  await buildBundles();
  const world = await makeWorld(scale);
  const run = given.memory ? measureMemory : given.hostile ? measureNextToHostileTenant : measure;
  try {
    await run(world, scale);
  } finally {
    await Promise.all([world.server.stop(), world.cluster.stop()]);
  }
}

async function measure(world: World, scale: Scale): Promise<void> {
  const { resources, repositories, hosts, pods, requests, interval } = scale;
  const metricsPort = await freePort();
  const cold = await step('Starting from cold', () => startFromCold(world, metricsPort, interval));
  const { controller } = cold;
  const quiet = await step('A quiet poll cycle', () => quietCycle(controller.pid, metricsPort, interval));
  const count = Math.min(requests, Math.floor(resources / 4));
  const idle = await step('Requests', () => measureRequests(world, { first: 0, count }));
  const polled = await step('Requests over a poll cycle', () =>
    measureRequests(world, { first: count, count, overSeconds: interval }),
  );
  const flood = await step('Requests in a flood', () => measureRequestsInFlood(world, { first: 2 * count, count }));
  const memory = await readMemory(controller.pid);
  const heap = (await readMetric(metricsPort, /^nodejs_heap_size_used_bytes /)) / 1e6;
  await controller.stop();
  const floor = await step('Patching directly', () => patchDirectly(world));
  printTable(
    ['what', 'measured', 'aim'],
    [
      [
        `${resources} resources of ${repositories} repositories on ${hosts} hosts, from cold`,
        seconds(cold.seconds),
        '',
      ],
      [`${resources} direct patches of the same statuses`, seconds(floor), ''],
      ['ratio', (cold.seconds / floor).toFixed(2), '≤ 1.5'],
      ['git queries in that time', cold.queries.all, ''],
      ['git queries before the first poll could be due', cold.queries.beforePolls, `${repositories}`],
      ['API writes until then', cold.writes, `${resources}`],
      ['API writes in a quiet poll cycle', quiet.writes, '0'],
      ['processor in a quiet cycle', `${quiet.cpuPercent.toFixed(1)} %`, '< 2 % at 1,000'],
      [`memory after the start (peak), ${pods} pods`, megabytes(cold.memory), ''],
      ['memory after a quiet cycle (peak)', megabytes(quiet.memory), ''],
      ['memory at the end (peak)', megabytes(memory), '95 / 110 / 134 MB'],
      ['used heap at the end', `${heap.toFixed(0)} MB`, ''],
      ['request to status, p50', milliseconds(quantile(idle, 0.5)), '< 60 ms'],
      ['request to status, p99', milliseconds(quantile(idle, 0.99)), '< 250 ms'],
      ['request over a poll cycle of all, p50', milliseconds(quantile(polled, 0.5)), ''],
      ['request over a poll cycle of all, p99', milliseconds(quantile(polled, 0.99)), '< 1,000 ms'],
      [
        `${flood.latencies.length} requests while polls move ${flood.moved} resources, p50`,
        milliseconds(quantile(flood.latencies, 0.5)),
        '',
      ],
      ['the same, p99', milliseconds(quantile(flood.latencies, 0.99)), ''],
    ],
  );
}

async function measureNextToHostileTenant(world: World, scale: Scale): Promise<void> {
  const { controller } = await step('Starting from cold', async () =>
    startFromCold(world, await freePort(), scale.interval),
  );
  const count = Math.min(scale.requests, Math.floor(scale.resources / 2));
  const alone = await step('Requests', () => measureRequests(world, { first: 0, count }));
  const tenant = await step('A hostile tenant begins', () => startHostileTenant(world));
  const beside = await step('Requests of others', () =>
    measureRequests(world, { first: count, count, overSeconds: HOSTILE_SECONDS }),
  );
  const edits = await tenant.stop();
  const memory = await readMemory(controller.pid);
  await controller.stop();
  printTable(
    ['what', 'measured', 'aim'],
    [
      ['request to status, alone, p50', milliseconds(quantile(alone, 0.5)), ''],
      ['the same, p99', milliseconds(quantile(alone, 0.99)), ''],
      [`next to a hostile tenant with ${edits} edits, p50`, milliseconds(quantile(beside, 0.5)), ''],
      ['the same, p99', milliseconds(quantile(beside, 0.99)), '< 1,000 ms'],
      ['memory at the end (peak)', megabytes(memory), '134 MB'],
    ],
  );
}

const seconds = (value: number) => `${value.toFixed(1)} s`;
const milliseconds = (value: number) => `${value.toFixed(0)} ms`;
const megabytes = ({ now, peak }: { now: number; peak: number }) => `${now.toFixed(0)} (${peak.toFixed(0)}) MB`;

interface ColdStart {
  controller: RunningProgram;
  seconds: number;
  /** Git queries, all of them and those before the first poll could be due. */
  queries: { all: number; beforePolls: number };
  writes: number;
  memory: { now: number; peak: number };
}

async function startFromCold(
  { cluster, server, mirror }: World,
  metricsPort: number,
  interval: number,
): Promise<ColdStart> {
  server.requests.length = 0;
  const [started, startedAt] = [performance.now(), Date.now()];
  const controller = await startController(cluster, metricsPort);
  while (![...mirror.store.values()].every(({ status }) => status?.lastSyncCommit !== undefined)) await sleep(20);
  const queries = server.requests.filter(({ command }) => command === 'ls-refs');
  return {
    controller,
    seconds: (performance.now() - started) / 1000,
    queries: {
      all: queries.length,
      beforePolls: queries.filter(({ at }) => at < startedAt + interval * 950).length,
    },
    writes: await readWrites(metricsPort),
    memory: await readMemory(controller.pid),
  };
}

/** One poll cycle in which nothing happens. */
async function quietCycle(pid: number, metricsPort: number, interval: number) {
  await sleep(2_000); // what is left of the start
  const before = { writes: await readWrites(metricsPort), cpu: await readCpuSeconds(pid), at: performance.now() };
  await sleep(interval * 1000 * 1.2);
  const elapsed = (performance.now() - before.at) / 1000;
  return {
    writes: (await readWrites(metricsPort)) - before.writes,
    cpuPercent: ((await readCpuSeconds(pid)) - before.cpu) * (100 / elapsed),
    memory: await readMemory(pid),
  };
}
