import { timerMs } from '../../shared/domain/text/duration.ts';

/** Work between syncs, such as inspections for users, previews, and housekeeping. */
export interface Chore {
  /** Milliseconds until it is due. */
  readonly dueMs: number;
  /**
   * Does it if it is due; if the signal aborts it, it is due again. `urgent` aborts only if the agent stops or the
   * gateway must not keep its release.
   */
  run: (signal: AbortSignal, urgent: AbortSignal) => Promise<void>;
}

/** Time and signals that end chores. */
interface Limits {
  /** Monotonic time of the next check of the files (ms). */
  until: number;
  /** Aborts if the agent stops or the resource changed. */
  ending: AbortSignal;
  urgent: AbortSignal;
}

/** Minimum time of a chore before a check of the files interrupts it (ms). */
const MIN_MS = 5_000;

/** Runs chores one at a time, until the next check of the files. */
export class Chores {
  readonly #chores: readonly Chore[];
  readonly #minMs: number;
  /** Minimum times of chores that a check interrupted: they double, so that the chore completes at last (ms). */
  readonly #allowances = new Map<Chore, number>();

  constructor(chores: readonly Chore[], { minMs = MIN_MS } = {}) {
    this.#chores = chores;
    this.#minMs = minMs;
  }

  /** Milliseconds until one of them is due. */
  get dueMs(): number {
    return Math.min(...this.#chores.map(({ dueMs }) => dueMs));
  }

  /** Runs those that are due. */
  async run(limits: Limits): Promise<void> {
    for (const chore of this.#chores) if (!limits.ending.aborted) await this.#runOne(chore, limits);
  }

  async #runOne(chore: Chore, { until, ending, urgent }: Limits): Promise<void> {
    const limitMs = Math.max(until - performance.now(), this.#allowances.get(chore) ?? this.#minMs);
    const isDue = chore.dueMs <= 0;
    const overdue = new AbortController();
    const timer = setTimeout(() => overdue.abort(), timerMs(limitMs));
    try {
      await chore.run(AbortSignal.any([ending, overdue.signal]), AbortSignal.any([urgent, overdue.signal]));
    } finally {
      clearTimeout(timer);
    }
    if (overdue.signal.aborted) this.#allowances.set(chore, limitMs * 2);
    else if (isDue && chore.dueMs > 0) this.#allowances.delete(chore);
  }
}
