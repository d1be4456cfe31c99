import { parse, TomlError } from 'smol-toml';
import { SYNTAX_BOUNDS, type SyntaxProblem, TOO_DEEP } from './syntax-problem.ts';

/** Describes the first syntax error of TOML 1.1. Integers can have 64 bits. */
export function tomlProblem(text: string): SyntaxProblem | undefined {
  return parseProblem(text) ?? dateProblem(text);
}

function parseProblem(text: string): SyntaxProblem | undefined {
  try {
    const parsed = parse(text, { maxDepth: SYNTAX_BOUNDS.depth, integersAsBigInt: 'asNeeded' });
    return hasLongInteger(parsed) ? { what: 'an integer has more than 64 bits' } : undefined;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const { line, column, message } = error;
    // The rest quotes lines of the file, which might contain a secret.
    const [first = ''] = message.replace(/^Invalid TOML document: /, '').split('\n', 1);
    return { line, column, what: first.includes('excessively nested') ? TOO_DEEP : first };
  }
}

const LETTERS: Record<string, string> = { 29: 'x', 30: 'y', 31: 'z' };

/**
 * Finds a day that its month doesn't have, such as 2021-02-30, which the library reads as March 2. It rejects letters in
 * a date, so they replace each such day. Text, comments, and keys can have any day, and no two keys become equal.
 */
function dateProblem(text: string): SyntaxProblem | undefined {
  const letter = [...'zyxwvutsrqponmlkjihgfedcba'].find((each) => !new RegExp(`\\d{4}-\\d\\d-${each}`).test(text));
  const changed = text.replaceAll(/(\d{4}-\d\d-)(29|3[01])/g, (date, month, day) =>
    new Date(date).getUTCDate() === Number(day) ? date : `${month}${letter}${LETTERS[day]}`,
  );
  const problem = changed === text ? undefined : parseProblem(changed);
  return problem?.what.startsWith('invalid date') ? { ...problem, what: 'invalid date' } : undefined;
}

function hasLongInteger(value: unknown): boolean {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) !== value;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasLongInteger);
}
