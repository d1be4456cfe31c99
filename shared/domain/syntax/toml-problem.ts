import { parse, TomlError } from 'smol-toml';
import { SYNTAX_BOUNDS, type SyntaxProblem, TOO_DEEP } from './syntax-problem.ts';

/** Describes the first syntax error of TOML 1.1. Integers can have 64 bits. */
export function tomlProblem(text: string): SyntaxProblem | undefined {
  try {
    parse(text, { maxDepth: SYNTAX_BOUNDS.depth, integersAsBigInt: 'asNeeded' });
    return undefined;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const { line, column, message } = error;
    // The rest quotes lines of the file, which might contain a secret.
    const [first = ''] = message.replace(/^Invalid TOML document: /, '').split('\n', 1);
    return { line, column, what: first.includes('excessively nested') ? TOO_DEEP : first };
  }
}
