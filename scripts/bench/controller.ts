import { setTimeout as sleep } from 'node:timers/promises';
import { buildBundles } from '../demo/build-bundles.ts';
import type { GitRepository } from '../testbed/git-repository.ts';
import type { RunningProgram } from '../testbed/programs.ts';
import { step } from '../testbed/step.ts';
import { timeRequests, timeRequestsDuringPolls } from './controller/time-requests.ts';
import { createPod } from './support/create-pod.ts';
import { inParallel } from './support/in-parallel.ts';
import { type Mirror, mirrorResources } from './support/mirror.ts';
import { readCpuSeconds, readMemory } from './support/process-usage.ts';
import { readMetric } from './support/read-metric.ts';
import { readOptions } from './support/read-options.ts';
import { createRepositories } from './support/repositories.ts';
import { megabytes, percentiles, printTable } from './support/table.ts';
import { createResource, inWorld, startController, type World } from './support/world.ts';

/** The defaults of the options; `interval` is the time between two polls in seconds. */
const defaults = { resources: 1000, repositories: 1, hosts: 1, pods: 0, requests: 100, interval: 60 };

type Size = typeof defaults;

/**
 * Measures a controller's cold start, its memory, CPU time, and API calls, and the time from a request
 * to the status, at rest and while polls move all resources; `--resources 1000 --repositories 1 --hosts 1
 * --pods 0 --requests 100 --interval 60`.
 */
export async function run(args: string[]): Promise<void> {
  const size = readOptions(args, defaults);
  await buildBundles();
  await inWorld(async (world) => {
    const repositories = await step(`Creating ${size.repositories} repositories`, () =>
      createRepositories(world.server, size),
    );
    await step(`Creating ${size.resources} resources and ${size.pods} pods`, async () => {
      await createResources(world, repositories, size);
      await inParallel(size.pods, 32, (index) =>
        createPod(world, `pod-${index}`, `resource-${index % size.resources}`),
      );
    });
    await measure(world, repositories, size);
  });
}

async function measure(world: World, repositories: GitRepository[], size: Size): Promise<void> {
  const { resources, hosts, pods, requests, interval } = size;
  const mirror = await mirrorResources(world);
  const cold = await step('Starting from cold', () => startFromCold(world, mirror, interval));
  const { pid, metricsPort } = cold.controller;
  const quiet = await step('A quiet poll cycle', () => measureQuietCycle(pid, metricsPort, interval));
  const count = Math.min(requests, Math.floor(resources / 3));
  const atRest = await step('Requests', () => timeRequests(world, { mirror, first: 0, count }));
  const polled = await step('Requests while polls move all other resources', () =>
    timeRequestsDuringPolls(world, repositories, { mirror, first: count, count }),
  );
  const memory = await readMemory(pid);
  await cold.controller.stop();
  printTable(
    ['what', 'measured', 'aim'],
    [
      [
        `${resources} resources of ${size.repositories} repositories on ${hosts} hosts, from cold`,
        `${cold.seconds.toFixed(1)} s`,
      ],
      ['git queries before the first poll could be due', cold.queries, size.repositories],
      ['API writes until then', cold.writes],
      ['API writes in a quiet poll cycle', quiet.writes, 0],
      ['CPU in a quiet cycle', `${quiet.cpuPercent.toFixed(1)} %`, '< 2 % at 1,000'],
      [`memory after the start (peak), ${pods} pods`, megabytes(cold.memory)],
      ['memory at the end (peak)', megabytes(memory), '< 110 MB at 1,000'],
      ['request to status, p50, p99', percentiles(atRest), '< 60, < 250 ms'],
      [
        `${polled.times.length} requests while polls move ${polled.moved} resources, p50, p99`,
        percentiles(polled.times),
      ],
    ],
  );
}

interface ColdStart {
  controller: RunningProgram;
  /** Time until every resource has its commit. */
  seconds: number;
  /** Git queries before the first poll could be due. */
  queries: number;
  writes: number;
  memory: { now: number; peak: number };
}

async function startFromCold(world: World, mirror: Mirror, interval: number): Promise<ColdStart> {
  const { requests } = world.server;
  requests.length = 0;
  const started = performance.now();
  const startedAt = Date.now();
  const controller = await startController(world, { AUTO_BIND_AGENT: 'false' });
  while (![...mirror.store.values()].every(({ status }) => status?.lastSyncCommit !== undefined)) await sleep(20);
  return {
    controller,
    seconds: (performance.now() - started) / 1000,
    queries: requests.filter(({ command, at }) => command === 'ls-refs' && at < startedAt + interval * 950).length,
    writes: await readWrites(controller.metricsPort),
    memory: await readMemory(controller.pid),
  };
}

/** Measures a poll of every repository that finds nothing new. */
async function measureQuietCycle(pid: number, metricsPort: string, interval: number) {
  await sleep(2_000); // for the rest of the start
  const writes = await readWrites(metricsPort);
  const cpu = await readCpuSeconds(pid);
  const started = performance.now();
  await sleep(interval * 1000 * 1.2);
  const elapsed = (performance.now() - started) / 1000;
  return {
    writes: (await readWrites(metricsPort)) - writes,
    cpuPercent: ((await readCpuSeconds(pid)) - cpu) * (100 / elapsed),
  };
}

/** Reads the number of writes to the API server. */
const readWrites = (port: string): Promise<number> =>
  readMetric(port, 'sync_controller_api_calls_total', /method="(POST|PUT|PATCH|DELETE)"/);

async function createResources(world: World, repositories: GitRepository[], size: Size): Promise<void> {
  const polling = { interval: `${size.interval}s` };
  await inParallel(size.resources, 32, (index) => {
    const repo = repositories[index % repositories.length]?.url ?? '';
    return createResource(world, { name: `resource-${index}`, repo, spec: { polling } });
  });
}
