import { type CharacterClass, readGlob, type Token } from './read-glob.ts';
import { WorkBudget } from './work-budget.ts';

/**
 * Compiles a glob into a test of paths. `?` is one character, `*` any number of them, `[a-z]` one of these and `[!a-z]`
 * one of all others; none of them is a slash. `**` between slashes is any number of folders, none included. `{a,b}` is
 * one of the two, and `\` takes the next character as it is. A bracket or brace that nothing closes is a character.
 *
 * The test never goes back: it passes the glob once, and notes how far into the text the part so far can reach. So it
 * takes no longer than the length of the one times that of the other, and each step is a comparison.
 */
export function compileGlob(glob: string): (text: string) => boolean {
  const reach = compile(glob);
  return (text) => {
    const { length, isReached } = reach(text);
    return isReached?.[length] === 1;
  };
}

/**
 * Compiles a glob into the same test of all folders that a path lies in, the outermost first. It passes the path once:
 * what a part of it can reach does not depend on what follows.
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

/** How far into a text a glob can reach. */
interface Reach {
  codes: Uint32Array;
  /** Of the text, in code points. */
  length: number;
  /** A 1 for each place at which the whole glob can end; undefined where it can nowhere. */
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

/** To read a character of a glob takes so many times as long as to render one. */
const READING_COSTS = 16;

/** What would not mean what its author thinks; undefined where the glob is fine. */
export function globProblem(glob: string, budget: WorkBudget = new WorkBudget()): string | undefined {
  if (!glob.includes('{') || !glob.includes('..')) return undefined;
  const spent = budget.take(READING_COSTS * glob.length);
  if (spent) return spent;
  const { range } = readGlob(glob);
  return range && `${JSON.stringify(glob)}: a range such as ${range} is not supported: write [1-9] or {a,b,c}`;
}

/** The places of a text, its end included, to which the glob so far can reach. */
interface Places {
  /** A 1 for each place that can be reached. */
  isReached: Uint8Array;
  /** None is before the first or behind the last; there is none where the first is behind the last. */
  first: number;
  last: number;
}

const SLASH = 0x2f;

function endsOf(tokens: Token[], codes: Uint32Array): Uint8Array | undefined {
  let places: Places = { isReached: new Uint8Array(codes.length + 1), first: 0, last: 0 };
  places.isReached[0] = 1;
  /** Of each group that is open, where it begins and where its alternatives so far can end. */
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

/** Moves all places on by a token. */
function pass(token: Token, codes: Uint32Array, places: Places): void {
  if (token.kind === 'char') passOne(codes, places, (code) => code === token.code);
  else if (token.kind === 'class') passOne(codes, places, (code) => isInClass(code, token.class));
  else if (token.kind === 'folders') passFolders(codes, places);
  else passAll(codes, places, token.kind === 'star' ? SLASH : undefined);
}

/** One character; from the end on, so that no place is moved twice. */
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

/** Any number of characters up to one that is the end of them. */
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

/** Any number of folders, each with its slash. */
function passFolders(codes: Uint32Array, places: Places): void {
  const { isReached, first, last } = places;
  for (let at = first + 1; at <= codes.length && first <= last; at += 1) {
    if (codes[at - 1] !== SLASH) continue;
    isReached[at] = 1;
    places.last = Math.max(at, places.last);
  }
}
