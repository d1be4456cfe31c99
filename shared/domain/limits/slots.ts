import { Turns } from './turns.ts';

/** Limits concurrent callers. Parties, such as namespaces, take turns; callers of one party are served in order of arrival. */
export class Slots {
  readonly #waiting = new Turns<() => void>();
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  /** Number of waiting callers. */
  get waiting(): number {
    return this.#waiting.size;
  }

  waitingOf(party: string): number {
    return this.#waiting.sizeOf(party);
  }

  /** Runs the function as soon as there is a slot. */
  async run<T>(use: () => Promise<T>, party = ''): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.add(party, resolve));
    try {
      return await use();
    } finally {
      const next = this.#waiting.take();
      if (next) next.item();
      else this.#free++;
    }
  }
}
