import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';

export interface ResyncOptions {
  keys: () => Iterable<ObjectKey>;
  enqueue: (key: ObjectKey) => void;
  /** Time in which each key is enqueued once (ms). */
  periodMs: number;
}

/**
 * Enqueues every key once per period until the signal aborts, to repair what no watch delivered or went wrong unseen. The
 * keys are spread evenly over the period.
 */
export async function resync({ keys, enqueue, periodMs }: ResyncOptions, signal: AbortSignal): Promise<void> {
  const until = (time: number) =>
    sleep(Math.max(0, time - performance.now()), undefined, { signal, ref: false }).catch(() => {});
  while (!signal.aborted) {
    const started = performance.now();
    const round = [...keys()];
    for (const [index, key] of round.entries()) {
      await until(started + ((index + Math.random()) / round.length) * periodMs);
      if (signal.aborted) return;
      enqueue(key);
    }
    await until(started + periodMs);
  }
}
