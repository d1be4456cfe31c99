import { setTimeout as sleep } from 'node:timers/promises';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { buildBundles } from '../demo/build-bundles.ts';
import type { GitRepository } from '../testbed/git-repository.ts';
import { type Mirror, mirrorGatewaySyncs } from '../testbed/mirror-gateway-syncs.ts';
import { type RunningProgram, startProgram } from '../testbed/programs.ts';
import { step } from '../testbed/step.ts';
import { populate, type Size } from './controller/populate.ts';
import { timeRequests, timeRequestsDuringPolls } from './controller/time-requests.ts';
import { readCpuSeconds, readMemory, readMetric } from './support/measure.ts';
import { readOptions } from './support/read-options.ts';
import { megabytes, percentiles, printTable } from './support/table.ts';
import { inParallel, inWorld, NAMESPACE, type World } from './support/world.ts';

const defaults = { resources: 1000, repositories: 1, hosts: 1, pods: 0, releases: 0, requests: 100, interval: 60 };

/**
 * Measures a controller's cold start, its memory, CPU time, and API calls, and the time from a request
 * to the status, at rest and while polls move all resources; `--resources 1000 --repositories 1 --hosts 1
 * --pods 0 --releases 0 --requests 100 --interval 60`.
 */
export async function run(args: string[]): Promise<void> {
  const size = readOptions(args, defaults);
  await buildBundles();
  await inWorld(async (world) => measure(world, await populate(world, size), size));
}

async function measure(world: World, repositories: GitRepository[], size: Size & { requests: number }): Promise<void> {
  const { resources, hosts, pods, releases, requests, interval } = size;
  const mirror = await mirrorGatewaySyncs(world.client, world.ending.signal);
  const cold = await step('Starting from cold', () => startFromCold(world, mirror, interval));
  const { pid, metricsPort } = cold.controller;
  const quiet = await step('A quiet poll cycle', () => measureQuietCycle(pid, metricsPort, interval));
  const count = Math.min(requests, Math.floor(resources / 3));
  const atRest = await step('Requests', () => timeRequests(world, { mirror, first: 0, count }));
  const polled = await step('Requests while polls move all other resources', () =>
    timeRequestsDuringPolls(world, repositories, { mirror, first: count, count }),
  );
  const memory = readMemory(pid);
  // With releases, all resources already have rollouts in progress.
  const rollouts = await step('Rollouts in progress', () =>
    measureRollouts(world, repositories, { mirror, pid, pods: releases > 0 ? 0 : pods, metricsPort }),
  );
  await cold.controller.stop();
  printTable([
    [
      `${resources} resources of ${size.repositories} repositories on ${hosts} hosts, from cold`,
      `${cold.seconds.toFixed(1)} s`,
    ],
    ['git queries before the first poll could be due', cold.queries, size.repositories],
    ['API writes until then', cold.writes],
    ['API writes in a quiet poll cycle', quiet.writes, 0],
    ['CPU in a quiet cycle', `${quiet.cpuPercent.toFixed(1)} %`, '< 2 % at 1,000'],
    [`memory after the start (peak), ${pods} pods, ${resources * releases} releases`, megabytes(cold.memory)],
    ['memory at the end (peak)', megabytes(memory), '< 110 MB at 1,000'],
    ['request to status, p50, p99', percentiles(atRest), '< 60, < 250 ms'],
    [`${polled.times.length} requests while polls move ${polled.moved} resources, p50, p99`, percentiles(polled.times)],
    [
      `CPU while ${rollouts.count} rollouts wait for a gateway`,
      `${rollouts.cpuPercent.toFixed(1)} %`,
      '< 10 % at 1,000',
    ],
    ['API writes in that time', rollouts.writes, 0],
  ]);
}

/** Starts a controller, and waits until every resource has its commit. */
async function startFromCold(world: World, mirror: Mirror, interval: number) {
  const { requests } = world.server;
  requests.length = 0;
  const started = performance.now();
  const startedAt = Date.now();
  const controller = await startController(world);
  while (![...mirror.store.values()].every(({ status }) => status?.lastSyncCommit !== undefined)) await sleep(20);
  return {
    controller,
    seconds: (performance.now() - started) / 1000,
    // Before the first poll could be due.
    queries: requests.filter(({ command, at }) => command === 'ls-refs' && at < startedAt + interval * 950).length,
    writes: await readWrites(controller.metricsPort),
    memory: readMemory(controller.pid),
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

/** Begins a rollout of every resource with a pod, which no agent verifies, and measures half a minute of waiting. */
async function measureRollouts(
  world: World,
  repositories: GitRepository[],
  { mirror, pid, pods, metricsPort }: { mirror: Mirror; pid: number; pods: number; metricsPort: string },
) {
  const { client } = world;
  const names = [...mirror.store.values()]
    .filter(({ status }) => status?.target?.ref === 'main')
    .slice(0, pods)
    .map(({ metadata }) => metadata.name ?? '');
  const inPhase = (phase: string) =>
    [...mirror.store.values()].filter(({ status }) => status?.rollout?.phase === phase).length;
  const commits = () =>
    new Set(
      [...mirror.store.values()].flatMap(({ status }) => (status?.target?.ref === 'main' ? status.lastSyncCommit : [])),
    );
  while (commits().size > 1) await sleep(50);
  await inParallel(names.length, (index) =>
    client.mergePatch(gatewaySyncPath(NAMESPACE, names[index] ?? ''), { spec: { rollout: {} } }),
  );
  while (inPhase('Complete') < names.length) await sleep(50);
  for (const repository of repositories) await repository.commit({ files: { 'files/a': '3' } });
  while (inPhase('Progressing') < names.length) await sleep(50);
  return { count: names.length, ...(await measureQuietCycle(pid, metricsPort, 25)) };
}

/** Reads the number of writes to the API server. */
const readWrites = (port: string): Promise<number> =>
  readMetric(port, 'sync_controller_api_calls_total', /method="(POST|PUT|PATCH|DELETE)"/);

/** Starts the controller as its image does, without admission, leader election, and bindings. */
const startController = ({ cluster: { kubeconfig, dir } }: World): Promise<RunningProgram> =>
  startProgram('controller', {
    logs: dir,
    environment: {
      KUBECONFIG: kubeconfig,
      POD_NAME: `controller-${process.pid}`,
      POD_NAMESPACE: NAMESPACE,
      LEADER_ELECTION: 'false',
      WEBHOOK_PORT: '0',
      METRICS_SECURE: 'false',
      LOG_LEVEL: 'warn',
      AUTO_BIND_AGENT: 'false',
    },
  });
