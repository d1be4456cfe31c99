import { type ErrorCode, YAMLParseError } from 'yaml';
import { describeProblem, TOO_DEEP } from './syntax-problem.ts';

/** Descriptions of syntax errors. The library's own can quote the file, which might contain a secret. */
const WORDS: Record<ErrorCode, string> = {
  ALIAS_PROPS: "an alias can't have a tag or an anchor",
  BAD_ALIAS: 'an alias or anchor has no name',
  BAD_COLLECTION_TYPE: "a tag doesn't fit its map or list",
  BAD_DIRECTIVE: 'invalid directive',
  BAD_DQ_ESCAPE: 'invalid escape sequence',
  BAD_INDENT: 'wrong indentation',
  BAD_PROP_ORDER: 'a tag or anchor is before the -, ?, or : that it must follow',
  BAD_SCALAR_START: "text can't start with this character; put quotes around it",
  BLOCK_AS_IMPLICIT_KEY: "a map or list can't start here; put quotes around text with a colon and a space",
  BLOCK_IN_FLOW: "an indented map or list can't be inside brackets",
  DUPLICATE_KEY: 'map keys must be unique',
  IMPOSSIBLE: 'unexpected text',
  KEY_OVER_1024_CHARS: 'a key has more than 1,024 characters',
  MISSING_CHAR: 'a space, a line break, or a -, :, or --- is missing',
  MULTILINE_IMPLICIT_KEY: 'a key must be on one line',
  MULTIPLE_ANCHORS: 'more than one anchor',
  MULTIPLE_DOCS: 'more than one document',
  MULTIPLE_TAGS: 'more than one tag',
  NON_STRING_KEY: "a key isn't text",
  RESOURCE_EXHAUSTION: TOO_DEEP,
  TAB_AS_INDENT: "tabs can't be used as indentation",
  TAG_RESOLVE_FAILED: 'invalid tag',
  UNEXPECTED_TOKEN: 'unexpected text',
};

/** Descriptions of errors that share their code with others, by the start of the library's. */
const SPECIAL: [RegExp, string][] = [
  [/^Missing closing .quote/, 'a closing quote is missing'],
  [/^Missing , /, 'missing comma between items'],
  [/^Missing space after :/, 'missing space after a colon'],
  [/^Flow .* must .*end with a /s, 'missing closing bracket'],
  [/^Implicit map keys need/, 'missing colon after a key'],
  [/^All (mapping|sequence) items must start/, 'all items of a map or list must start at the same column'],
  [/^Sequence item without/, 'missing - before an item of a list'],
  [/^Block scalar header/, 'unexpected text after | or >'],
];

/** Returns the description of an error of the library. */
export function yamlWords({ code, message }: { code: ErrorCode; message: string }): string {
  return SPECIAL.find(([start]) => start.test(message))?.[1] ?? WORDS[code];
}

/** Describes an error that the library threw for a text: a syntax error, or an alias that can't be resolved. */
export function yamlCause(error: unknown): string {
  if (!(error instanceof YAMLParseError))
    return "an alias has no anchor before it, contains itself, or can't be copied";
  const [start] = error.linePos ?? [];
  return describeProblem({ ...(start && { line: start.line, column: start.col }), what: yamlWords(error) });
}
