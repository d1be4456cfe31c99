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
    return { line, column, what: WORDS.find(([start]) => start.test(message))?.[1] ?? 'invalid TOML' };
  }
}

/** Descriptions by the library's, which also quote lines of the file. They might contain a secret. */
const WORDS = Object.entries({
  'document contains excessively nested': TOO_DEEP,
  'invalid date': 'invalid date',
  'illegal leading zero': 'a number starts with 0',
  'integer value': 'an integer has more than 64 bits',
  '(?:illegal underscore|illegal character in numeric|unfinished numeric)': 'invalid number',
  'invalid value': 'a value is missing or invalid; put quotes around text',
  'expected end of table array': 'missing ]] after the name of a table',
  'each key-value': 'missing line break after a value',
  'control characters': 'control characters must be escaped in text, and removed from comments',
  '(?:invalid .*escape|unrecognised escape)': 'invalid escape sequence',
  'unfinished string': 'a closing quote is missing',
  '(?:unexpected end of key|illegal empty)': 'missing key',
  'illegal quoted key': 'a key must be on one line',
  'illegal character in key': 'put quotes around a key with spaces or special characters',
  'incomplete key-value': 'missing = or ] after a key',
  'trying to redefine': 'a key or table is already defined',
  'expected comma': 'missing comma or closing bracket',
  '(?:unfinished table|unfinished array)': 'missing closing bracket',
}).map(([start, what]) => [new RegExp(`^Invalid TOML document: ${start}`), what] as const);

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
