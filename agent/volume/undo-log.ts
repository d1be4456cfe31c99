/** What has to be done to take back what was done so far. */
export class UndoLog {
  readonly #steps: (() => Promise<void>)[] = [];

  /** Notes how to take back a step that was just done. */
  push(step: () => Promise<void>): void {
    this.#steps.push(step);
  }

  /** Takes everything back, the last step first; gives the errors of those that could not be. */
  async run(): Promise<unknown[]> {
    const errors: unknown[] = [];
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      await step().catch((error) => errors.push(error));
    }
    return errors;
  }
}
