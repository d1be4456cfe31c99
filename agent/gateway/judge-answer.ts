import { isBoundedJson } from '../../shared/domain/limits/is-bounded-json.ts';
import { ANSWER_BOUNDS } from '../../shared/domain/text/read-json.ts';
import { oneLine } from '../../shared/domain/text/text.ts';
import type { VerifyRequest } from '../resource/judge-resource.ts';

type Expected = NonNullable<VerifyRequest['expect']>;

/** Bytes of a response that are compared. */
export const MAX_ANSWER_BYTES = 256 * 1024;
/** Characters of a value in a message. */
const MAX_VALUE = 200;

/**
 * Compares a response with `expect`, and returns the first difference; undefined if there is none. It contains the value
 * that was compared, but nothing else of the response. `render` renders the templates of a text, and may throw.
 */
export function judgeAnswer(
  { json = [], contains }: Expected,
  body: string,
  render: (text: string) => string,
): string | undefined {
  const bytes = Buffer.from(body);
  if (bytes.length > MAX_ANSWER_BYTES) return 'the response has more than 256 KiB';
  if (contains !== undefined) {
    const text = render(contains);
    if (text === '') return 'the text in expect.contains is empty';
    if (!body.includes(text)) return "the response doesn't contain the text in expect";
  }
  if (json.length === 0) return undefined;
  if (!isBoundedJson(bytes, ANSWER_BOUNDS)) return 'the response is too deep or has too many values to compare';
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.replace(/^\ufeff/, ''));
  } catch {
    return "the response isn't JSON";
  }
  for (const { path, equals } of json) {
    // kubectl apply omits null.
    const expected = typeof equals === 'string' ? render(equals) : (equals ?? null);
    if (typeof expected === 'object' && expected !== null)
      return `expect.json for ${path} must be a string, a number, true, false, or null`;
    if (Number.isInteger(expected) && !Number.isSafeInteger(expected))
      return `expect.json for ${path || 'the root'} must be a number that JSON keeps exactly`;
    const found = valueAt(parsed, path);
    if (found !== expected)
      return `the response has ${described(found)} at ${path || 'its root'}, expected is ${described(expected)}`;
  }
  return undefined;
}

/** Returns the value at a JSON Pointer (RFC 6901); undefined if there is none. */
function valueAt(root: unknown, pointer: string): unknown {
  let value = root;
  for (const token of pointer.split('/').slice(1)) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

function described(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  return oneLine(JSON.stringify(value), MAX_VALUE);
}
