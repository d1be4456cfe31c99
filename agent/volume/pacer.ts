import { setImmediate as nextTurn } from 'node:timers/promises';

/** Milliseconds of work between two turns of the event loop: probes are answered meanwhile. */
const SLICE_MS = 10;

/** Cuts long synchronous work into slices. Synchronous, since a call through the thread pool costs ten times what the system call does. */
export class Pacer {
  #since = performance.now();

  /** Whether it is time to {@link rest}. */
  get isDue(): boolean {
    return performance.now() - this.#since > SLICE_MS;
  }

  /** Lets everything else have its turn. */
  async rest(): Promise<void> {
    await nextTurn();
    this.#since = performance.now();
  }
}

/** Runs the function for one item after the other, in slices. */
export async function eachInTurn<T>(items: Iterable<T>, run: (item: T) => void): Promise<void> {
  const pacer = new Pacer();
  for (const item of items) {
    run(item);
    if (pacer.isDue) await pacer.rest();
  }
}

/** Runs the function for every item, at most `limit` at once. The first error ends it once those under way are done. */
export async function forEachLimited<T>(
  items: Iterable<T>,
  limit: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let failed = false;
  const work = async () => {
    for (let next = iterator.next(); !next.done && !failed; next = iterator.next()) {
      try {
        await run(next.value);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: limit }, work));
  const failure = results.find((result) => result.status === 'rejected');
  if (failure) throw failure.reason;
}
