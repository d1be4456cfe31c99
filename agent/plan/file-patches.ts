import { createHash } from 'node:crypto';
import { isBoundedJson } from '../../shared/domain/is-bounded-json.ts';
import { type EditTree, editTree, type JsonEdit, jsonOf } from '../../shared/domain/json-edits.ts';
import type { RenderedPatch } from '../../shared/domain/render-patch.ts';
import { messageOf } from '../../shared/errors.ts';
import { firstInvalidByte } from './invalid-utf8.ts';
import { BRACKETS, endOfString, endOfValue, type Span, skipSeparator, skipSpace } from './json-scanner.ts';

/** What is done to the content of one file. */
export interface FilePatches {
  /** The edits of each patch, in the order of the patches. */
  steps: JsonEdit[][];
  /** Tells whether a file went through exactly these. */
  hash: string;
}

/** The brackets that are open are noted: eight megabytes of them would not fit. */
const BOUNDS = { depth: Number.POSITIVE_INFINITY, parts: 500_000 };

/** The patches that are meant for a file, named relative to the mapping's source; undefined where there is none. */
export function patchesFor(patches: RenderedPatch[], file: string): FilePatches | undefined {
  const steps = patches.filter(({ matches }) => matches(file)).map(({ edits }) => edits);
  if (steps.length === 0) return undefined;
  const sorted = steps.map((edits) => edits.map(({ path, json }) => JSON.stringify([path, json])).sort());
  return { steps, hash: createHash('sha256').update(JSON.stringify(sorted)).digest('hex') };
}

/** What a file comes to, or what is wrong. */
export type PatchedContent = { kind: 'content'; content: Buffer } | { kind: 'problem'; message: string };

/**
 * Carries the patches out, one after the other. Content that is no UTF-8 is a problem, as RFC 8259 has it. Yields where
 * others should have their turn: between two passes through the content.
 */
export function* applyPatches(given: Buffer, { steps }: FilePatches): Generator<undefined, PatchedContent> {
  const problem = (message: string): PatchedContent => ({
    kind: 'problem',
    message: `cannot be patched: it ${message}`,
  });
  const invalid = firstInvalidByte(given);
  if (invalid !== undefined) return problem(`isn't UTF-8 at byte ${invalid}`);
  if (!isBoundedJson(given, BOUNDS)) return problem(`contains more than ${BOUNDS.parts} keys and values`);
  yield;
  const syntax = syntaxProblem(given.toString('utf8', startOf(given)));
  if (syntax) return problem(`isn't JSON (RFC 8259): ${syntax}`);
  let content = given;
  for (const edits of steps) {
    yield;
    const result = patchJson(content, edits);
    if (result.kind === 'problem') return problem(result.message);
    content = result.content;
  }
  return { kind: 'content', content };
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

const startOf = (content: Buffer): number =>
  content.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;

/** Returns what is wrong with a JSON text. V8's messages quote the text, which may hold a secret: only the place is shown. */
function syntaxProblem(text: string): string | undefined {
  const message = parseErrorOf(text);
  if (message === undefined) return undefined;
  const given = / at position (\d+) \(line \d+ column \d+\)$/.exec(message)?.[1];
  const end = message.startsWith('Unexpected end') ? text.length : Number(given ?? endOfParsed(text));
  const lines = text.slice(0, end).split('\n');
  return `see line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}

function parseErrorOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Finds an unexpected token, whose place V8 doesn't give, by halving: a text that ends before it has another error. */
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

/** Told by the edits and caught at the top: the place of a patch does not exist, or is not one. */
class PlaceError extends Error {}

/**
 * Puts values into a JSON text (RFC 8259), which must be valid, and leaves every other byte as it is: numbers are never
 * parsed, keys keep their order and white space stays. A key that is missing is added at the end of its object, with the
 * objects that it needs; elements of an array are named by their index and must be there. One pass finds all places, and
 * one writes the result: of a large file, nothing is done once for each value.
 */
function patchJson(content: Buffer, edits: JsonEdit[]): PatchedContent {
  const edited = editTree(edits);
  if (edited.kind === 'problem') return edited;
  const places = new Places(content);
  try {
    places.find(skipSpace(content, startOf(content)), { tree: edited.tree, path: [] });
    return { kind: 'content', content: splice(content, places.found) };
  } catch (error) {
    if (error instanceof PlaceError) return { kind: 'problem', message: error.message };
    throw error;
  }
}

/** Text to be put in the place of a span. */
interface Splice extends Span {
  text: string;
}

interface PatchTarget {
  tree: EditTree;
  /** Keys that lead here. */
  path: string[];
}

/** A member of an object: where its name and its value are. */
interface Member {
  key: Span;
  value: Span;
}

/** Finds the places of edits, in the order of the text. It goes into what they name, and calls itself for each level of that. */
class Places {
  readonly found: Splice[] = [];
  readonly #content: Buffer;

  constructor(content: Buffer) {
    this.#content = content;
  }

  /** Notes what is wanted of the value that begins at `start`, and gives where that ends. */
  find(start: number, { tree, path }: PatchTarget): number {
    if (tree.kind === 'value') {
      const end = endOfValue(this.#content, start);
      this.found.push({ start, end, text: tree.json });
      return end;
    }
    const first = this.#content[start];
    if (first === BRACKETS.object) return this.#inObject(start, { children: tree.children, path });
    if (first === BRACKETS.list) return this.#inArray(start, { children: tree.children, path });
    throw new PlaceError(`has no object at ${path.join('.') || 'its top'}`);
  }

  #inObject(start: number, { children, path }: { children: Map<string, EditTree>; path: string[] }): number {
    const content = this.#content;
    const missing = new Map(children);
    let last: Member | undefined;
    let before = start;
    let at = skipSpace(content, start + 1);
    while (content[at] !== BRACKETS.endOfObject) {
      const key = { start: at, end: endOfString(content, at) };
      const valueStart = skipSpace(content, skipSpace(content, key.end) + 1);
      const name = nameOf(content, key);
      const tree = children.get(name);
      const inner = [...path, name];
      if (tree && !missing.delete(name)) throw new PlaceError(`has the key ${inner.join('.')} more than once`);
      const end = tree ? this.find(valueStart, { tree, path: inner }) : endOfValue(content, valueStart);
      before = last?.value.end ?? start;
      last = { key, value: { start: valueStart, end } };
      at = skipSeparator(content, end);
    }
    if (missing.size > 0) this.found.push(added(content, { start, before, last, missing }));
    return at + 1;
  }

  #inArray(start: number, { children, path }: { children: Map<string, EditTree>; path: string[] }): number {
    const content = this.#content;
    const missing = new Map(children);
    let length = 0;
    let at = skipSpace(content, start + 1);
    while (content[at] !== BRACKETS.endOfList) {
      const key = String(length);
      const tree = children.get(key);
      missing.delete(key);
      const end = tree ? this.find(at, { tree, path: [...path, key] }) : endOfValue(content, at);
      at = skipSeparator(content, end);
      length += 1;
    }
    const [absent] = missing.keys();
    if (absent === undefined) return at + 1;
    throw new PlaceError(`has no element ${[...path, absent].join('.')}: the array has ${length}`);
  }
}

const nameOf = (content: Buffer, { start, end }: Span): string => JSON.parse(content.toString('utf8', start, end));

interface Addition {
  /** Of the object. */
  start: number;
  /** The end of the last member but one, or else the start of the object. */
  before: number;
  last: Member | undefined;
  missing: Map<string, EditTree>;
}

/** White space that is copied for each new key, at most: somebody may have put megabytes of it into a file. */
const MOST_SPACE = 200;

/** New members look like the last one: the same white space before the key and around the colon, unless there is very much of it. */
function added(content: Buffer, { start, before, last, missing }: Addition): Splice {
  const textOf = (span: Span, instead: string): string =>
    span.end - span.start > MOST_SPACE ? instead : content.toString('latin1', span.start, span.end);
  const space = last ? textOf({ start: skipSpace(content, before) + 1, end: last.key.start }, ' ') : '';
  const colon = last ? textOf({ start: last.key.end, end: last.value.start }, ': ') : ': ';
  const list = [...missing].map(([key, child]) => `${JSON.stringify(key)}${colon}${jsonOf(child)}`);
  const end = last?.value.end ?? start + 1;
  const text = last ? list.map((member) => `,${space}${member}`).join('') : list.join(', ');
  return { start: end, end, text };
}

/** The splices must be in the order of their places. */
function splice(content: Buffer, splices: Splice[]): Buffer {
  const pieces: Buffer[] = [];
  let from = 0;
  for (const { start, end, text } of splices) {
    pieces.push(content.subarray(from, start), Buffer.from(text));
    from = end;
  }
  return Buffer.concat([...pieces, content.subarray(from)]);
}
