import { setTimeout as sleep } from 'node:timers/promises';
import type { Deliveries, Delivery } from './deliveries.ts';
import { type Program, untilLeader } from './programs.ts';
import type { World } from './world.ts';

/** What became of deliveries while another replica took over; times in seconds since the leader was ended. */
export interface TakeOver {
  leader: Program;
  /** When the other replica said that it leads. */
  ledAfter: number;
  /** When the first delivery of that time was handled, and the last one. */
  firstHandledAfter: number;
  lastHandledAfter: number;
  deliveries: number;
}

/** Deliveries a second meanwhile, each of another resource. */
const PER_SECOND = 4;
/** Deliveries go on for so long after another replica leads, in milliseconds. */
const AFTERWARDS_MS = 5_000;
const SETTLED_WITHIN_MS = 300_000;

/** Ends the leader, and measures how long nobody handles what comes in. */
export async function takeOver(
  { resources }: World,
  deliveries: Deliveries,
  { end, spares }: { end: () => Promise<void>; spares: Program[] },
): Promise<TakeOver> {
  const sent: Promise<Delivery>[] = [];
  const started = performance.now();
  const ended = end();
  const timer = setInterval(() => {
    const resource = resources[(sent.length * 97) % resources.length];
    if (resource) sent.push(deliveries.push(resource));
  }, 1000 / PER_SECOND);
  const leader = await untilLeader(spares);
  const ledAfter = secondsSince(started);
  await sleep(AFTERWARDS_MS);
  clearInterval(timer);
  await ended;
  const all = (await Promise.all(sent)).filter(({ status }) => status === 202);
  await untilHandled(deliveries, SETTLED_WITHIN_MS);
  const handled = all.map(({ handledAt = Number.NaN }) => (handledAt - started) / 1000);
  return {
    ...{ leader, ledAfter, deliveries: all.length },
    firstHandledAfter: Math.min(...handled),
    lastHandledAfter: Math.max(...handled),
  };
}

/** Waits until every accepted delivery is handled, or the time is over. */
export async function untilHandled(deliveries: Deliveries, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (deliveries.unhandled.length > 0 && performance.now() < deadline) await sleep(200);
}

const secondsSince = (moment: number): number => (performance.now() - moment) / 1000;
