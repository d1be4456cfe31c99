import { readMetric } from '../support/read-metric.ts';
import { countEach, percentiles, printTable, quantile, type Row } from '../support/table.ts';
import type { Deliveries, Delivery } from './deliveries.ts';
import type { MixCounts } from './mix.ts';
import { pollGaps } from './poll-gaps.ts';
import type { Replica } from './programs.ts';
import type { TakeOver } from './take-over.ts';
import type { MemoryPeaks, Usage } from './usage.ts';
import type { ScaleWorld } from './world.ts';

/** A cold start with existing objects; seconds since the start of the first controller. */
export interface ColdStart {
  ready: number;
  leads: number;
  /** Time at which it had queried every repository. */
  queriedAll: number;
  /** Seconds until a second replica was ready. */
  spareReady: number;
}

export function printStart({ size }: ScaleWorld, start: ColdStart, replicas: Replica[]): void {
  const limit = replicas.every(({ isLimited }) => isLimited)
    ? `controllers in cgroups of ${size.memory} MiB, receivers of 128 MiB`
    : 'without cgroups';
  console.log(`\n${size.resources} resources, ${size.pods} pods, ${size.repositories} repositories, ${limit}\n`);
  printTable(
    ['start', 'measured'],
    [
      [
        'a controller starts: ready; leads; has queried all repositories',
        seconds(start.ready, start.leads, start.queriedAll),
      ],
      ['a spare starts: ready', seconds(start.spareReady)],
    ],
  );
}

/** Measurements during the mix. */
export interface MixResults {
  world: ScaleWorld;
  replicas: Replica[];
  deliveries: Deliveries;
  counts: MixCounts;
  /** Number of reports that agents wrote. */
  reports: number;
  /** Milliseconds since the epoch. */
  from: number;
  to: number;
  quiet: Usage;
  mix: Usage;
  peaks: MemoryPeaks;
}

export async function printMix(results: MixResults): Promise<void> {
  const { world, replicas, deliveries, counts, quiet, mix } = results;
  const { interval, minutes } = world.size;
  const { gaps, overdue } = pollGaps(world.server.requests, { ...results, interval });
  const { pushes, commits, releases, edits, churn, errors } = counts;
  const restarts = replicas.reduce((sum, replica) => sum + replica.restarts, 0);
  console.log();
  printTable(
    [`${minutes} minutes of everything`, 'measured'],
    [
      [
        'pushes, commits that a poll found, releases, edits, pods, reports',
        [pushes, commits, releases, edits, churn, results.reports].join(', '),
      ],
      ['changes that failed', `${errors.length} ${errors[0] ?? ''}`],
      ['deliveries: answers', countEach(deliveries.all.map(({ status = 0 }) => status))],
      ['deliveries accepted (202) but not handled', deliveries.unhandled.length],
      ['from POST to the response, p50, p99', percentiles(timesTo(deliveries, 'answeredAt'))],
      ['from POST to a status that handles it, p50, p99', percentiles(timesTo(deliveries, 'handledAt'))],
      [
        `between two polls of a repository (${interval} s), p50, p99, longest`,
        seconds(quantile(gaps, 0.5), quantile(gaps, 0.99), Math.max(...gaps)),
      ],
      ['repositories whose poll was overdue at the end', overdue],
      ['API calls of the operator a second, at rest; in the mix', perSecond(quiet, mix)],
      ['programs that exited by themselves', restarts],
    ],
  );
  console.log();
  printTable(['replica', 'own memory (peak)', 'used heap', 'CPU at rest', 'in the mix'], await replicaRows(results));
}

async function replicaRows({ replicas, quiet, mix, peaks }: MixResults): Promise<string[][]> {
  const percent = ({ cpuPercent }: Usage, name: string) => `${(cpuPercent.get(name) ?? 0).toFixed(1)} %`;
  const heap = ({ metricsPort }: Replica) => readMetric(metricsPort, 'nodejs_heap_size_used_bytes');
  return await Promise.all(
    replicas.map(async (replica) => [
      replica.name,
      `${(peaks.byName.get(replica.name) ?? 0).toFixed(0)} MB`,
      `${((await heap(replica)) / 1e6).toFixed(0)} MB`,
      percent(quiet, replica.name),
      percent(mix, replica.name),
    ]),
  );
}

export function printTakeOvers(killed: TakeOver, stopped: TakeOver, lost: number): void {
  const rows = (what: string, { ledAfter, firstHandledAfter, lastHandledAfter, deliveries }: TakeOver): Row[] => [
    [`${what}: another leads; handles the first delivery`, seconds(ledAfter, firstHandledAfter)],
    [`all ${deliveries} deliveries in this period are handled`, seconds(lastHandledAfter)],
  ];
  console.log();
  printTable(
    ['a change of the leader', 'measured'],
    [
      ...rows('the leader is killed', killed),
      ...rows('the leader is stopped', stopped),
      ['deliveries accepted (202) but not handled', String(lost)],
    ],
  );
}

/** Returns the milliseconds from each POST. */
function timesTo({ all }: Deliveries, moment: 'answeredAt' | 'handledAt'): number[] {
  return all.flatMap((delivery: Delivery) => {
    const at = delivery[moment];
    return at === undefined ? [] : [at - delivery.sentAt];
  });
}

const perSecond = (...usages: Usage[]): string =>
  usages.map(({ callsPerSecond }) => callsPerSecond.toFixed(1)).join('; ');

const seconds = (...values: number[]): string => values.map((value) => `${value.toFixed(1)} s`).join('; ');
