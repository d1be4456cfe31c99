import type { SyntaxFormat } from '../../api/sync.ts';
import { isBoundedJson } from '../limits/is-bounded-json.ts';
import { firstInvalidByte } from '../text/invalid-utf8.ts';
import { jsonProblem } from './json-problem.ts';
import { SYNTAX_BOUNDS, type SyntaxProblem, TOO_DEEP } from './syntax-problem.ts';
import { tomlProblem } from './toml-problem.ts';
import { yamlProblem } from './yaml-problem.ts';

/** Returns the first problem of a file, which must be UTF-8 and within the limits; undefined if it parses. */
export function checkSyntax(content: Buffer, format: SyntaxFormat): SyntaxProblem | undefined {
  if (content.length > SYNTAX_BOUNDS.bytes) return { what: TOO_LARGE };
  const invalid = firstInvalidByte(content);
  if (invalid !== undefined) return { what: `byte ${invalid} isn't UTF-8` };
  if (format === 'json' && !isBoundedJson(content, SYNTAX_BOUNDS)) return { what: TOO_MANY_PARTS };
  try {
    return PARSERS[format](content.toString('utf8'));
  } catch (error) {
    if (error instanceof RangeError) return { what: TOO_DEEP };
    throw error;
  }
}

const PARSERS = { json: jsonProblem, yaml: yamlProblem, toml: tomlProblem };

/** Description of a file over the size limit, which callers needn't read. */
export const TOO_LARGE = `larger than ${SYNTAX_BOUNDS.bytes} bytes, the limit for checks`;
const TOO_MANY_PARTS = `${TOO_DEEP}, or more than ${SYNTAX_BOUNDS.parts} keys and values`;
