import { WorkBudget } from '../limits/work-budget.ts';
import { type CharacterClass, readGlob, type Token } from './read-glob.ts';

/**
 * Compiles a glob into a test of paths. `?` matches one character, `*` any number, `[a-z]` one of these, and `[!a-z]` one
 * of all others, except slashes. `**` between slashes matches any number of directories, including none. `{a,b}` matches
 * one of the two, and `\` escapes the next character. An unclosed bracket or brace is a character.
 *
 * The test doesn't backtrack: it reads the glob once, and tracks the positions in the text that the part so far can reach.
 * The number of comparisons is at most the product of both lengths.
 */
export function compileGlob(glob: string): (text: string) => boolean {
  const reach = compile(glob);
  return (text) => {
    const { length, isReached } = reach(text);
    return isReached?.[length] === 1;
  };
}

/**
 * Compiles a glob into the same test for all parent directories of a path, the outermost first. Reads the path only once,
 * because the positions that a prefix can reach don't depend on the rest.
 */
export function compileGlobForDirectories(glob: string): (path: string) => boolean[] {
  const reach = compile(glob);
  return (path) => {
    const { codes, length, isReached } = reach(path);
    const found: boolean[] = [];
    for (let at = 0; at < length; at += 1) if (codes[at] === SLASH) found.push(isReached?.[at] === 1);
    return found;
  };
}

/** Positions in a text that a glob can reach. */
interface Reach {
  codes: Uint32Array;
  /** Length of the text in code points. */
  length: number;
  /** A 1 for each position at which the whole glob can end; undefined if there is none. */
  isReached: Uint8Array | undefined;
}

function compile(glob: string): (text: string) => Reach {
  const { tokens } = readGlob(glob);
  let room = new Uint32Array(64);
  return (text) => {
    if (room.length < text.length) room = new Uint32Array(2 * text.length);
    const codes = codePointsOf(text, room);
    return { codes, length: codes.length, isReached: endsOf(tokens, codes) };
  };
}

/** Cost of reading a character of a glob, relative to rendering one. */
const READING_COSTS = 16;

/** Describes syntax that would be misunderstood; undefined if the glob is valid. */
export function globProblem(glob: string, budget: WorkBudget = new WorkBudget()): string | undefined {
  if (!glob.includes('{') || !glob.includes('..')) return undefined;
  const spent = budget.take(READING_COSTS * glob.length);
  if (spent) return spent;
  const { range } = readGlob(glob);
  return range && `${JSON.stringify(glob)}: a range such as ${range} isn't supported; use [1-9] or {a,b,c}`;
}

/** The positions of a text, including its end, that the glob so far can reach. */
interface Places {
  /** A 1 for each reachable position. */
  isReached: Uint8Array;
  /** The first and the last reachable position; there is none if the first is after the last. */
  first: number;
  last: number;
}

const SLASH = 0x2f;

function endsOf(tokens: Token[], codes: Uint32Array): Uint8Array | undefined {
  let places: Places = { isReached: new Uint8Array(codes.length + 1), first: 0, last: 0 };
  places.isReached[0] = 1;
  /** The start of each open group, and the possible ends of its alternatives so far. */
  const groups: { begin: Places; end: Places }[] = [];
  for (const token of tokens) {
    const group = groups.at(-1);
    if (token.kind === 'open') groups.push({ begin: copyOf(places), end: none(codes) });
    else if (group && (token.kind === 'comma' || token.kind === 'close')) {
      join(group.end, places);
      places = token.kind === 'comma' ? copyOf(group.begin) : group.end;
      if (token.kind === 'close') groups.pop();
    } else pass(token, codes, places);
    if (groups.length === 0 && places.first > places.last) return undefined;
  }
  return places.isReached;
}

/** In the room that is given, which must be as long as the text. */
function codePointsOf(text: string, room: Uint32Array): Uint32Array {
  let count = 0;
  for (let at = 0; at < text.length; count += 1) {
    const code = text.codePointAt(at) as number;
    room[count] = code;
    at += code > 0xffff ? 2 : 1;
  }
  return room.subarray(0, count);
}

const none = (codes: Uint32Array): Places => ({
  isReached: new Uint8Array(codes.length + 1),
  first: codes.length + 1,
  last: -1,
});

const copyOf = ({ isReached, first, last }: Places): Places => ({ isReached: isReached.slice(), first, last });

function join(all: Places, { isReached, first, last }: Places): void {
  for (let at = first; at <= last; at += 1) if (isReached[at] === 1) all.isReached[at] = 1;
  all.first = Math.min(all.first, first);
  all.last = Math.max(all.last, last);
}

/** Advances all positions by a token. */
function pass(token: Token, codes: Uint32Array, places: Places): void {
  if (token.kind === 'char') passOne(codes, places, (code) => code === token.code);
  else if (token.kind === 'class') passOne(codes, places, (code) => isInClass(code, token.class));
  else if (token.kind === 'directories') passDirectories(codes, places);
  else passAll(codes, places, token.kind === 'star' ? SLASH : undefined);
}

/** Matches one character, in reverse order, so that no position is advanced twice. */
function passOne(codes: Uint32Array, places: Places, takes: (code: number) => boolean): void {
  const { isReached, first } = places;
  const last = Math.min(places.last, codes.length - 1);
  places.first = codes.length + 1;
  places.last = -1;
  isReached[codes.length] = 0;
  for (let at = last; at >= first; at -= 1) {
    const isTaken = isReached[at] === 1 && takes(codes[at] as number);
    isReached[at + 1] = isTaken ? 1 : 0;
    if (!isTaken) continue;
    places.first = at + 1;
    if (places.last === -1) places.last = at + 1;
  }
  isReached[first] = 0;
}

function isInClass(code: number, { isNegated, ranges }: CharacterClass): boolean {
  return code !== SLASH && ranges.some(([first, last]) => first <= code && code <= last) !== isNegated;
}

/** Matches any number of characters up to a terminating one. */
function passAll(codes: Uint32Array, places: Places, stop: number | undefined): void {
  const { isReached, last } = places;
  let isOpen = false;
  for (let at = places.first; at <= codes.length && (isOpen || at <= last); at += 1) {
    if (isReached[at] === 1) isOpen = true;
    if (isOpen) isReached[at] = 1;
    if (isOpen) places.last = Math.max(at, last);
    if (codes[at] === stop) isOpen = false;
  }
}

/** Matches any number of directories, each with its slash. */
function passDirectories(codes: Uint32Array, places: Places): void {
  const { isReached, first, last } = places;
  for (let at = first + 1; at <= codes.length && first <= last; at += 1) {
    if (codes[at - 1] !== SLASH) continue;
    isReached[at] = 1;
    places.last = Math.max(at, places.last);
  }
}
