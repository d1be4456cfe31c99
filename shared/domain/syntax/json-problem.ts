import { placeOf, type SyntaxProblem } from './syntax-problem.ts';

const KEY = 'a key in double quotes is missing, or a comma is too many';

/** Descriptions by the start of V8's, which quote text of the file in other cases. It might contain a secret. */
const WORDS: [RegExp, string][] = [
  [/^Expected (?:property name|double-quoted)/, KEY],
  [/^Expected ',' or '}'/, 'a comma or } is missing after a value'],
  [/^Expected ',' or '\]'/, 'a comma or ] is missing after an item'],
  [/^Expected ':'/, 'a colon is missing after a key'],
  [/^Bad control character/, 'line breaks and control characters must be escaped in quotes'],
  [/^Bad (?:Unicode escape|escaped)/, 'invalid escape sequence'],
  [/^Unterminated string/, 'a closing quote is missing'],
  [/^(?:No number|Exponent part|Unterminated fractional)/, 'a digit is missing in a number'],
  [/^Unexpected non-whitespace/, 'text after the end of the JSON value'],
];

/** Describes the first syntax error of JSON as `JSON.parse` defines it. */
export function jsonProblem(text: string): SyntaxProblem | undefined {
  const message = parseErrorOf(text);
  if (message === undefined) return undefined;
  if (message.startsWith('Unexpected end')) return { ...placeOf(text, text.length), what: 'unexpected end of JSON' };
  const given = / at position (\d+) \(line \d+ column \d+\)$/.exec(message)?.[1];
  const what = WORDS.find(([start]) => start.test(message))?.[1] ?? 'unexpected character in JSON';
  return { ...placeOf(text, Number(given ?? endOfParsed(text))), what };
}

function parseErrorOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return (error as SyntaxError).message;
  }
}

/** Finds an unexpected token, whose position V8 omits, by bisection: a text that ends earlier has another error. */
function endOfParsed(text: string): number {
  let parsed = 0;
  let refused = text.length;
  while (refused - parsed > 1) {
    const middle = Math.floor((parsed + refused) / 2);
    if (parseErrorOf(text.slice(0, middle))?.startsWith('Unexpected token')) refused = middle;
    else parsed = middle;
  }
  return parsed;
}
