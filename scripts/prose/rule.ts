import type { Kind } from './passage.ts';

/** Phrases that a native author wouldn't write, for one reason. */
export interface Rule {
  name: string;
  /** Patterns, each with the text to write instead. A space also matches the end of a line. */
  find: [RegExp, string][];
  /** Hits per 1,000 words that are ordinary English: only more count. Without a budget, no hit is allowed. */
  budget?: number;
  /** Kinds of text that the rule is about; if omitted, all but identifiers. */
  kinds?: Kind[];
  files?: RegExp;
  /** The rule is about terms or structure, so its hits don't add to the density. */
  apart?: true;
}
