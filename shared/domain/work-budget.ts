import { BOUNDS } from '../api/bounds.ts';

/**
 * What the paths, values and patterns of a spec may cost together. A variable multiplies: a spec of a megabyte would become
 * fifty, in a program that reads those of all tenants.
 */
export class WorkBudget {
  #left: number = BOUNDS.rendered;

  /** Takes characters off; a problem in words where there are no more. */
  take(characters: number): string | undefined {
    this.#left -= characters;
    return this.isSpent ? SPENT : undefined;
  }

  get isSpent(): boolean {
    return this.#left < 0;
  }
}

const SPENT = `the rendered paths and values are longer than ${BOUNDS.rendered} characters in total; shorten them`;
