/** A file that differs from the delivered one. */
export interface Drift {
  path: string;
  /** It was changed or removed. */
  reason: 'Drifted' | 'Missing';
  /** Whether the plan repairs it. */
  isRepaired: boolean;
}

/** Maximum number of consecutive repairs of a file; after that, another program evidently keeps changing it. */
export const MAX_REPAIRS = 3;

/** Number of consecutive repairs of each file. A check that finds the file as delivered resets it. */
export class RepairCounts {
  #counts: ReadonlyMap<string, number> = new Map();

  of(path: string): number {
    return this.#counts.get(path) ?? 0;
  }

  /** Forgets all repairs, so that all files are repaired again. */
  forget(): void {
    this.#counts = new Map();
  }

  /** Records the findings of a check of all files, and the repairs. */
  onCheck(drift: Drift[]): void {
    this.#counts = new Map(drift.map(({ path, isRepaired }) => [path, this.of(path) + (isRepaired ? 1 : 0)]));
  }
}
