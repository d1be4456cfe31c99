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
