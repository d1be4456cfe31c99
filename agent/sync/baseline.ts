import type { Manifest } from '../plan/manifest.ts';

/**
 * What the last sync of this process came to. While it holds, a sync need not lay out and look at everything: the
 * manifest says what is in place, and the next check in time finds any drift.
 */
export class Baseline {
  #recipe: string | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** The manifest says what this recipe (everything but the commit that decides on paths and patches) came to. */
  onSynced(recipe: string): void {
    this.#recipe = recipe;
  }

  /** Every file was looked at. */
  onLook(): void {
    this.#lookedAt = performance.now();
  }

  /** Nothing is known any more. */
  forget(): void {
    this.#recipe = undefined;
    this.#lookedAt = Number.NEGATIVE_INFINITY;
  }

  /** Whether the manifest is the outcome of the recipe for the commit that it names. */
  holds(recipe: string, { applied, pending }: Manifest): boolean {
    return applied !== undefined && pending.size === 0 && recipe === this.#recipe;
  }

  /** Whether every file was looked at within so many seconds. */
  isFresh(seconds: number): boolean {
    return performance.now() - this.#lookedAt < seconds * 1000;
  }
}
