import { messageOf } from '../../errors.ts';
import { placeOf, type SyntaxProblem } from './syntax-problem.ts';

/** Describes the first syntax error of JSON as `JSON.parse` defines it. V8's messages quote text, which might be a secret. */
export function jsonProblem(text: string): SyntaxProblem | undefined {
  const message = parseErrorOf(text);
  if (message === undefined) return undefined;
  const [, what, given] = /^(.*) at position (\d+) \(line \d+ column \d+\)$/.exec(message) ?? [];
  if (message.startsWith('Unexpected end')) return { ...placeOf(text, text.length), what: 'unexpected end of JSON' };
  const place = placeOf(text, Number(given ?? endOfParsed(text)));
  return { ...place, what: what ? `${what.charAt(0).toLowerCase()}${what.slice(1)}` : 'unexpected character in JSON' };
}

function parseErrorOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return messageOf(error);
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
