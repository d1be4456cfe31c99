/** Maximum number of consecutive times that housekeeping yields to a change of the resource. */
const MAX_YIELDS = 5;

/** Runs housekeeping after syncs. It yields to a change of the resource, such as a rollback, and is then due again. */
export class Housekeeping {
  readonly #tidy: (signal: AbortSignal) => Promise<void>;
  #isDue = false;
  #yields = 0;

  constructor(tidy: (signal: AbortSignal) => Promise<void>) {
    this.#tidy = tidy;
  }

  /** Schedules a run after another commit was delivered or fetched. */
  onCommit(): void {
    this.#isDue = true;
  }

  /** Runs it if it is due. Throws its error unless one of the signals aborted: the agent stops, or the resource changed. */
  async run({ stopping, changed }: { stopping: AbortSignal; changed: AbortSignal }): Promise<void> {
    if (!this.#isDue) return;
    const ending = this.#yields < MAX_YIELDS ? AbortSignal.any([stopping, changed]) : stopping;
    try {
      if (!ending.aborted) await this.#tidy(ending);
    } catch (error) {
      if (!ending.aborted) throw error;
    } finally {
      this.#isDue = ending.aborted;
      this.#yields = ending.aborted ? this.#yields + 1 : 0;
    }
  }
}
