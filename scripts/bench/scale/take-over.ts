import { setTimeout as sleep } from 'node:timers/promises';
import type { Deliveries, Delivery } from './deliveries.ts';
import { type Replica, untilLeader } from './programs.ts';
import type { ScaleWorld } from './world.ts';

/** A change of the leader; times in seconds since the previous one was stopped. */
export interface TakeOver {
  /** Time at which the other replica became the leader. */
  ledAfter: number;
  /** Times at which the first and the last delivery during the change were handled. */
  firstHandledAfter: number;
  lastHandledAfter: number;
  deliveries: number;
}

/** Deliveries a second during the change, each for another resource. */
const PER_SECOND = 4;
/** Time for which deliveries continue after another replica became the leader, in milliseconds. */
const AFTERWARDS_MS = 5_000;
const HANDLED_WITHIN_MS = 300_000;

/** Stops the leader and measures how long deliveries wait for the next one. */
export async function takeOver(
  { resources }: ScaleWorld,
  deliveries: Deliveries,
  { stop, spare }: { stop: () => Promise<void>; spare: Replica },
): Promise<TakeOver> {
  const sent: Promise<Delivery>[] = [];
  const started = performance.now();
  const stopped = stop();
  const timer = setInterval(() => {
    const resource = resources[(sent.length * 97) % resources.length];
    if (resource) sent.push(deliveries.push(resource));
  }, 1000 / PER_SECOND);
  await untilLeader([spare]);
  const ledAfter = (performance.now() - started) / 1000;
  await sleep(AFTERWARDS_MS);
  clearInterval(timer);
  await stopped;
  const accepted = (await Promise.all(sent)).filter(({ status }) => status === 202);
  await untilHandled(deliveries, HANDLED_WITHIN_MS);
  const handled = accepted.map(({ handledAt = Number.NaN }) => (handledAt - started) / 1000);
  return {
    ledAfter,
    firstHandledAfter: Math.min(...handled),
    lastHandledAfter: Math.max(...handled),
    deliveries: accepted.length,
  };
}

/** Waits until every accepted delivery is handled, or the time is over. */
export async function untilHandled(deliveries: Deliveries, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (deliveries.unhandled.length > 0 && performance.now() < deadline) await sleep(200);
}
