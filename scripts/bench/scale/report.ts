import { availableParallelism } from 'node:os';
import { printTable, quantile } from '../table.ts';
import { callsPerSecond } from './api-calls.ts';
import type { Delivery } from './deliveries.ts';
import { pollGaps } from './poll-gaps.ts';
import type { Results, Span, StartResults, TakeOvers } from './results.ts';

/** Kinds of calls that are listed each; the rest is summed up. */
const LISTED_CALLS = 14;

/** Prints what is known before the mix begins. */
export function printStart(results: StartResults): void {
  const { size } = results.world;
  const limit = results.programs.every(({ isLimited }) => isLimited)
    ? `controllers in cgroups of ${size.memory} MiB, receivers of 128 MiB`
    : 'without cgroups';
  console.log(`\n${size.resources} resources, ${size.pods} pods, ${size.repositories} repositories, ${limit}\n`);
  printTable(['at rest', 'measured'], [...startRows(results), ...memoryRows(results)]);
}

/** Prints what the mix led to, who used the processor, and the calls of the API server. */
export function printMix(results: Results): void {
  const { quiet, mix } = results;
  console.log();
  printTable(
    [`${results.world.size.minutes} minutes of everything`, 'measured'],
    [...mixRows(results), ...memoryRows(results)],
  );
  console.log();
  printTable([`percent of one of ${availableParallelism()} cores`, 'quiet', 'mix'], cpuRows(quiet, mix));
  console.log();
  printTable(['API calls a second', 'quiet', 'mix'], callRows(quiet, mix));
}

/** Prints what happened when leaders changed. */
export function printTakeOvers({ killed, told, readyAgain, lost }: TakeOvers): void {
  console.log();
  printTable(
    ['a change of the leader', 'measured'],
    [
      ['killed: another leads; handles the first delivery', seconds(killed.ledAfter, killed.firstHandledAfter)],
      [`all ${killed.deliveries} deliveries of that time are handled`, seconds(killed.lastHandledAfter)],
      ['a spare starts: ready', seconds(readyAgain)],
      ['told to stop: another leads; handles the first delivery', seconds(told.ledAfter, told.firstHandledAfter)],
      [`all ${told.deliveries} deliveries of that time are handled`, seconds(told.lastHandledAfter)],
      ['202 that no status answered', String(lost)],
    ],
  );
}

type Row = [what: string, measured: string];

function startRows({ start, watchesMb, world }: StartResults): Row[] {
  return [
    [
      'a controller starts: ready; leads; has asked all repositories',
      seconds(start.ready, start.leads, start.askedAll),
    ],
    ['a spare starts: ready', seconds(start.standbyReady)],
    ['memory of the API server for each watch', `${((watchesMb * 1000) / world.size.watches).toFixed(0)} KB`],
  ];
}

function mixRows({ world, deliveries, mix, burst, lost }: Results): Row[] {
  const isIn = ({ sentAt }: Delivery) => burst !== undefined && sentAt >= burst.from && sentAt <= burst.to;
  const inMix = deliveries.all.filter(({ wallAt }) => wallAt >= mix.from && wallAt <= mix.to);
  const calm = inMix.filter((delivery) => !isIn(delivery));
  const { gaps, overdue } = pollGaps(world.server.requests, { ...mix, interval: world.size.interval });
  const { counts } = mix;
  return [
    [
      'pushes, unannounced commits, releases, edits, pods, reports',
      [counts.pushes, counts.commits, counts.releases, counts.edits, counts.churn, mix.reports].join(', '),
    ],
    ['failed on the side of the load', `${counts.errors.length} ${counts.errors[0] ?? ''}`],
    ...latencyRows('deliveries', calm),
    ...(burst
      ? [
          ...latencyRows(`deliveries while ${burst.fetchedAfter.length} agents fetch`, inMix.filter(isIn)),
          [
            `${burst.fetchedAfter.length} agents fetch one commit: resolved; p50; the last has it`,
            seconds(burst.resolvedAfter, quantile(burst.fetchedAfter, 0.5), Math.max(...burst.fetchedAfter)),
          ] satisfies Row,
        ]
      : []),
    ['answers', statuses(deliveries.all)],
    ['202 that no status answered', String(lost)],
    [
      `between two polls of a repository (${world.size.interval} s): p50, p99, longest`,
      seconds(quantile(gaps, 0.5), quantile(gaps, 0.99), Math.max(...gaps)),
    ],
    ['repositories whose poll was overdue at the end', String(overdue)],
    ['calls that priority and fairness refused', String(mix.api.after.rejected)],
    ['database of etcd', `${(mix.api.after.stored / 1e6).toFixed(0)} MB`],
  ];
}

function latencyRows(what: string, deliveries: Delivery[]): Row[] {
  const since = (moment: 'answeredAt' | 'handledAt') =>
    deliveries.flatMap((delivery) => {
      const at = delivery[moment];
      return at === undefined ? [] : [at - delivery.sentAt];
    });
  const row = (name: string, times: number[]): Row => [
    `${what} (${times.length}): ${name}, p50, p99`,
    `${quantile(times, 0.5).toFixed(0)}, ${quantile(times, 0.99).toFixed(0)} ms`,
  ];
  return [row('answered', since('answeredAt')), row('handled', since('handledAt'))];
}

function memoryRows({ peaks, programs }: StartResults): Row[] {
  const restarts = programs.flatMap(({ name, restarts }) => restarts.map((why) => `${name}: ${why}`));
  const taken = Array.from(
    peaks,
    ([name, { anonymousMib, heapMb }]): Row => [
      `${name}: its own memory, heap, at most`,
      `${anonymousMib.toFixed(0)} MiB, ${heapMb.toFixed(0)} MB`,
    ],
  );
  return [...taken, ['programs that ended by themselves', restarts.join('; ') || '0']];
}

function cpuRows(...spans: Span[]): string[][] {
  const names = new Set(spans.flatMap(({ cpu }) => [...cpu.after.keys()]));
  const percent = ({ cpu, seconds: length }: Span, name: string) =>
    (100 * ((cpu.after.get(name) ?? 0) - (cpu.before.get(name) ?? 0))) / length;
  return Array.from(names, (name) => [name, ...spans.map((span) => percent(span, name).toFixed(1))]);
}

function callRows(...spans: Span[]): string[][] {
  const rates = spans.map(({ api, seconds: length }) => new Map(callsPerSecond(api.before, api.after, length)));
  const total = (each: Map<string, number>, calls: string[]) =>
    calls.reduce((sum, call) => sum + (each.get(call) ?? 0), 0).toFixed(2);
  const calls = [...new Set([...rates].reverse().flatMap((each) => [...each.keys()]))];
  const listed = calls.slice(0, LISTED_CALLS);
  return [
    ...listed.map((call) => [call, ...rates.map((each) => total(each, [call]))]),
    ['others', ...rates.map((each) => total(each, calls.slice(LISTED_CALLS)))],
    ['all', ...rates.map((each) => total(each, calls))],
  ];
}

function statuses(deliveries: Delivery[]): string {
  const counts = new Map<number, number>();
  for (const { status = 0 } of deliveries) counts.set(status, (counts.get(status) ?? 0) + 1);
  return Array.from(counts, ([status, count]) => `${count} × ${status}`).join(', ');
}

const seconds = (...values: number[]): string => values.map((value) => `${value.toFixed(1)} s`).join('; ');
