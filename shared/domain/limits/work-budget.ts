import { BOUNDS } from '../../api/bounds.ts';

/**
 * Budget for the paths, values, and patterns of a spec. Variables multiply their size: a spec of 1 MB could become 50 MB, in
 * a program that reads the specs of all tenants.
 */
export class WorkBudget {
  #left: number = BOUNDS.rendered;

  /** Deducts characters; returns a problem if the budget is exhausted. */
  take(characters: number): string | undefined {
    this.#left -= characters;
    return this.isSpent ? SPENT : undefined;
  }

  get isSpent(): boolean {
    return this.#left < 0;
  }
}

const SPENT = `the rendered paths and values are longer than ${BOUNDS.rendered} characters in total; shorten them`;
