import { parse, TomlError } from 'smol-toml';
import { SYNTAX_BOUNDS, type SyntaxProblem, TOO_DEEP } from './syntax-problem.ts';

/** Describes the first syntax error of TOML 1.1. Integers can have 64 bits. A day that its month doesn't have isn't found. */
export function tomlProblem(text: string): SyntaxProblem | undefined {
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

function hasLongInteger(value: unknown): boolean {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) !== value;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasLongInteger);
}
