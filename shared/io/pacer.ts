import { setImmediate as nextTurn } from 'node:timers/promises';

/** Maximum work between two turns of the event loop (ms), so that probes get a response in time. */
const SLICE_MS = 10;

/** Splits long synchronous work into slices; the thread pool would be ten times slower than a system call. */
export class Pacer {
  #since = performance.now();
  #turn: Promise<void> | undefined;

  /** Whether it's time to {@link rest}. */
  get isDue(): boolean {
    return performance.now() - this.#since > SLICE_MS;
  }

  /** Yields to all other work. */
  async rest(): Promise<void> {
    this.#turn ??= this.#nextTurn();
    await this.#turn;
  }

  /** Runs a function that many callers may run at once, as soon as a slice has time left for it. */
  async run<T>(work: () => T): Promise<T> {
    while (this.isDue) await this.rest();
    return work();
  }

  async #nextTurn(): Promise<void> {
    await nextTurn();
    this.#since = performance.now();
    this.#turn = undefined;
  }
}
