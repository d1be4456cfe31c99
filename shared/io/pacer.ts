import { setImmediate as nextTurn } from 'node:timers/promises';

/** Milliseconds of work between two turns of the event loop: probes are answered meanwhile. */
const SLICE_MS = 10;

/** Cuts long synchronous work into slices. Synchronous, since a call through the thread pool costs ten times what the system call does. */
export class Pacer {
  #since = performance.now();
  #turn: Promise<void> | undefined;

  /** Whether it is time to {@link rest}. */
  get isDue(): boolean {
    return performance.now() - this.#since > SLICE_MS;
  }

  /** Lets everything else have its turn. */
  async rest(): Promise<void> {
    this.#turn ??= this.#nextTurn();
    await this.#turn;
  }

  /** Runs a function that many may want to run at once, each for itself: as soon as a slice has time left for it. */
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
