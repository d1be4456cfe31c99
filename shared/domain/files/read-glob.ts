/** A token of a glob. Braces and commas have their own kinds if they form a group, and are characters otherwise. */
export type Token =
  | { kind: 'char'; code: number }
  | { kind: 'class'; class: CharacterClass }
  /** `*`, the rest of the text, or directories, each with its slash. */
  | { kind: 'star' | 'rest' | 'directories' }
  | { kind: 'open' | 'comma' | 'close' };

/** A set of characters, or its complement, without the slash. */
export interface CharacterClass {
  isNegated: boolean;
  /** The first and the last code point of each range. */
  ranges: [number, number][];
}

/** A written token; the meaning of `**` depends on its neighbors. */
type Written = Token | { kind: 'globstar' };

/** A token and its length in characters. */
type Read = [token: Written, length: number];

interface OpenBrace {
  /** Positions of its tokens: the brace, and the commas outside nested braces. */
  places: number[];
  /** The characters in it so far; undefined after any other token. */
  plain: string | undefined;
}

/** Reads a glob, and the first `{a..z}` in it, in one pass. */
export function readGlob(glob: string): { tokens: Token[]; range: string | undefined } {
  const chars = Array.from(glob);
  const tokens: Written[] = [];
  const braces: OpenBrace[] = [];
  let range: string | undefined;
  // After an unclosed bracket, no other bracket is closed.
  let unclosed = chars.length;
  for (let at = 0; at < chars.length; ) {
    const found = chars[at] === '[' && at < unclosed ? readClass(chars, at) : undefined;
    if (chars[at] === '[' && !found) unclosed = at;
    const [token, length] = found ?? readToken(chars, at);
    const mark = length === 1 ? chars[at] : undefined;
    const brace = braces.at(-1);
    if (brace && (mark === '{' || token.kind !== 'char')) brace.plain = undefined;
    if (mark === '{') braces.push({ places: [tokens.length], plain: '' });
    if (mark === ',') brace?.places.push(tokens.length);
    tokens.push(token);
    if (mark === '}' && brace) {
      braces.pop();
      if (brace.places.length > 1) markGroup(tokens, brace);
      else if (brace.plain?.includes('..')) range ??= `{${brace.plain}}`;
    } else if (brace?.plain !== undefined && mark !== '{') brace.plain += mark ?? '';
    at += length;
  }
  return { tokens: tokens.flatMap(resolved), range };
}

/** `**` is directories or the rest if it's a whole path segment, and `*` otherwise. */
function resolved(token: Written, index: number, tokens: Written[]): Token[] {
  const before = tokens[index - 1];
  const after = tokens[index + 1];
  if (token.kind === 'globstar') {
    if (!isStart(before)) return [{ kind: 'star' }];
    if (isSlash(after)) return [{ kind: 'directories' }];
    return [{ kind: after === undefined || after.kind === 'comma' || after.kind === 'close' ? 'rest' : 'star' }];
  }
  const isOfDirectories = isSlash(token) && before?.kind === 'globstar' && isStart(tokens[index - 2]);
  return isOfDirectories ? [] : [token];
}

const isStart = (before: Written | undefined): boolean =>
  before === undefined || isSlash(before) || before.kind === 'open' || before.kind === 'comma';

const isSlash = (token: Written | undefined): boolean => token?.kind === 'char' && token.code === codeOf('/');

function markGroup(tokens: Written[], { places: [open = 0, ...commas] }: OpenBrace): void {
  tokens[open] = { kind: 'open' };
  for (const comma of commas) tokens[comma] = { kind: 'comma' };
  tokens[tokens.length - 1] = { kind: 'close' };
}

function readToken(chars: string[], at: number): Read {
  const char = chars[at] ?? '';
  const next = chars[at + 1];
  if (char === '\\' && next !== undefined) return [{ kind: 'char', code: codeOf(next) }, 2];
  if (char === '?') return [{ kind: 'class', class: { isNegated: true, ranges: [] } }, 1];
  if (char !== '*') return [{ kind: 'char', code: codeOf(char) }, 1];
  let length = 1;
  while (chars[at + length] === '*') length += 1;
  return [{ kind: length === 2 ? 'globstar' : 'star' }, length];
}

/** Characters in brackets, as in fnmatch(3); undefined if the bracket at `start` isn't closed. */
function readClass(chars: string[], start: number): Read | undefined {
  const isNegated = chars[start + 1] === '!' || chars[start + 1] === '^';
  const first = start + (isNegated ? 2 : 1);
  const ranges: CharacterClass['ranges'] = [];
  for (let at = first; at < chars.length; ) {
    if (chars[at] === ']' && at > first) return [{ kind: 'class', class: { isNegated, ranges } }, at + 1 - start];
    const posix = posixClassAt(chars, at);
    if (posix) {
      ranges.push(...posix.ranges);
      at = posix.end;
      continue;
    }
    const from = escapedAt(chars, at);
    const hasEnd = chars[from.end] === '-' && (chars[from.end + 1] ?? ']') !== ']';
    const to = hasEnd ? escapedAt(chars, from.end + 1) : from;
    ranges.push([from.code, to.code]);
    at = to.end;
  }
  return undefined;
}

function escapedAt(chars: string[], at: number): { code: number; end: number } {
  const isEscaped = chars[at] === '\\' && at + 1 < chars.length;
  return { code: codeOf(chars[isEscaped ? at + 1 : at] ?? ''), end: at + (isEscaped ? 2 : 1) };
}

/** The C locale's classes inside brackets, such as `[:digit:]`. */
const posixClasses = new Map<string, string[]>([
  ['alnum', ['az', 'AZ', '09']],
  ['alpha', ['az', 'AZ']],
  ['blank', ['  ', '\t\t']],
  ['cntrl', ['\0\x1f', '\x7f\x7f']],
  ['digit', ['09']],
  ['graph', ['!~']],
  ['lower', ['az']],
  ['print', [' ~']],
  ['punct', ['!/', ':@', '[`', '{~']],
  ['space', ['  ', '\t\r']],
  ['upper', ['AZ']],
  ['xdigit', ['09', 'af', 'AF']],
]);
const LONGEST_POSIX_CLASS = '[:xdigit:]'.length;

function posixClassAt(chars: string[], at: number) {
  if (chars[at] !== '[' || chars[at + 1] !== ':') return undefined;
  const [, name] = /^\[:([a-z]+):\]/.exec(chars.slice(at, at + LONGEST_POSIX_CLASS).join('')) ?? [];
  const pairs = posixClasses.get(name ?? '');
  const ranges = pairs?.map((pair): [number, number] => [pair.charCodeAt(0), pair.charCodeAt(1)]);
  return ranges && name !== undefined ? { ranges, end: at + name.length + 4 } : undefined;
}

const codeOf = (char: string): number => char.codePointAt(0) ?? 0;
