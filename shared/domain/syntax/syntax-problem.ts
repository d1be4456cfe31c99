/** A syntax error, without text of the file. Lines and columns begin with 1. */
export interface SyntaxProblem {
  line?: number;
  column?: number;
  /** Description in lower case. */
  what: string;
}

/** Limits of a file that is checked. */
export const SYNTAX_BOUNDS = {
  bytes: 8 * 1024 ** 2,
  /** Levels of nested objects and arrays. */
  depth: 64,
  /**
   * Keys and values of a JSON file, because V8 can't abort a parse when memory runs out, and those that the aliases of a
   * YAML file add, because programs that read it copy them.
   */
  parts: 500_000,
};

export const TOO_DEEP = `nested deeper than ${SYNTAX_BOUNDS.depth} levels`;

/** Writes a problem for a message, such as `line 3, column 5: unexpected end of JSON`. */
export const describeProblem = ({ line, column, what }: SyntaxProblem): string =>
  line === undefined ? what : `line ${line}, column ${column}: ${what}`;

/** Returns the line and column of an offset. */
export function placeOf(text: string, offset: number): Pick<SyntaxProblem, 'line' | 'column'> {
  const lines = text.slice(0, offset).split('\n');
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}
