/** A file that is not as it was delivered. */
export interface Drift {
  path: string;
  /** It was changed, or is not there any more. */
  reason: 'Drifted' | 'Missing';
  /** Whether the plan puts it right. */
  isRepaired: boolean;
}

/** So often in a row a file is repaired. Then somebody is at work who will not give in. */
export const MAX_REPAIRS = 3;

/** How many times in a row each file was repaired: it begins again with a look that finds the file as it was delivered. */
export class RepairCounts {
  #counts: ReadonlyMap<string, number> = new Map();

  of(path: string): number {
    return this.#counts.get(path) ?? 0;
  }

  /** Everything is tried again. */
  forget(): void {
    this.#counts = new Map();
  }

  /** Takes note of what a look at all files found, and what was done about it. */
  onLook(drift: Drift[]): void {
    this.#counts = new Map(drift.map(({ path, isRepaired }) => [path, this.of(path) + (isRepaired ? 1 : 0)]));
  }
}
