import type { Mutant } from './list-mutants.ts';

/** A mutant that no test can notice, or that does not matter. */
export interface Equivalent extends Pick<Mutant, 'file' | 'what'> {
  /** The line in which it begins, without the space around it. */
  line: string;
  why: string;
}

/** Survivors that somebody has looked at. What is listed here and is not there any more is an error. */
export const EQUIVALENTS: readonly Equivalent[] = [];
