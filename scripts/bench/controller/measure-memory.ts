import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../testbed/free-port.ts';
import { LIMIT_KB, makeCgroup, watchMemory } from '../../testbed/memory-limit.ts';
import { step } from '../../testbed/step.ts';
import { readMemory } from '../process-usage.ts';
import { printTable, quantile } from '../table.ts';
import { measureRequests } from './measure-requests.ts';
import { readMetric, startController } from './start-controller.ts';
import type { Scale, World } from './world.ts';

/** What many resources and pods take of the memory that the chart grants, in a real cgroup where the machine lets us. */
export async function measureMemory(world: World, { resources, pods, requests }: Scale): Promise<void> {
  const metricsPort = await freePort();
  const cgroup = await makeCgroup();
  const started = performance.now();
  const controller = await step('Starting', () => startController(world.cluster, metricsPort, cgroup?.flags));
  const ready = performance.now() - started;
  const memory = watchMemory(controller.pid);
  await step('Waiting until all are resolved', () => untilResolved(world, pods));
  const resolved = performance.now() - started;
  const latencies = await step('Requests', () => measureRequests(world, { first: 0, count: requests }));
  await readMetric(metricsPort, /^x/);
  await sleep(1_000);
  const lagSeconds = await step('Scrapes', () => scrapeOften(metricsPort));
  const heap = await readMetric(metricsPort, /^nodejs_heap_size_used_bytes /);
  const peak = memory.stop();
  const rss = await readMemory(controller.pid);
  await controller.stop();
  await cgroup?.remove();
  printTable(
    [`${resources} resources, ${pods} pods, ${cgroup ? 'in a cgroup of' : 'without a cgroup of'} 128 MiB`, 'measured'],
    [
      ['ready after', `${(ready / 1000).toFixed(1)} s`],
      ['all resolved after', `${(resolved / 1000).toFixed(1)} s`],
      ["the process's own memory, peak", `${(peak / 1024).toFixed(0)} of ${LIMIT_KB / 1024} MiB`],
      ['resident memory at the end (peak)', `${rss.now.toFixed(0)} (${rss.peak.toFixed(0)}) MB`],
      ['used heap at the end', `${(heap / 1e6).toFixed(0)} MB`],
      [
        'request to status, p50, p99',
        `${quantile(latencies, 0.5).toFixed(0)}, ${quantile(latencies, 0.99).toFixed(0)} ms`,
      ],
      ['event loop blocked while metrics are scraped, at most', `${(lagSeconds * 1000).toFixed(0)} ms`],
    ],
  );
}

async function untilResolved({ mirror }: World, pods: number): Promise<void> {
  for (;;) {
    const stored = [...mirror.store.values()];
    const gateways = stored.reduce((sum, { status }) => sum + (status?.gateways?.total ?? 0), 0);
    if (gateways >= pods && stored.every(({ status }) => status?.lastSyncCommit !== undefined)) return;
    await sleep(200);
  }
}

/** Scrapes ten times, and gives the longest time for which the event loop had no turn, in seconds. */
async function scrapeOften(metricsPort: number): Promise<number> {
  let longest = 0;
  for (let scrape = 0; scrape < 10; scrape += 1) {
    longest = Math.max(longest, await readMetric(metricsPort, /^nodejs_eventloop_lag_max_seconds /));
    await sleep(200);
  }
  return longest;
}
