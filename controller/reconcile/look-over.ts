import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';

export interface LookOverOptions {
  keys: () => Iterable<ObjectKey>;
  look: (key: ObjectKey) => void;
  /** In which every key has its turn, in milliseconds. */
  periodMs: number;
}

/**
 * Has everything looked at again, once a period, until the signal aborts: what no watch brings, or what went wrong
 * unseen, is repaired then. The turns are spread evenly over the period.
 */
export async function lookOver({ keys, look, periodMs }: LookOverOptions, signal: AbortSignal): Promise<void> {
  const until = (time: number) =>
    sleep(Math.max(0, time - performance.now()), undefined, { signal, ref: false }).catch(() => {});
  while (!signal.aborted) {
    const started = performance.now();
    const round = [...keys()];
    for (const [index, key] of round.entries()) {
      await until(started + ((index + Math.random()) / round.length) * periodMs);
      if (signal.aborted) return;
      look(key);
    }
    await until(started + periodMs);
  }
}
