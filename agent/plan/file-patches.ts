import { createHash } from 'node:crypto';
import { type EditTree, editTree, type JsonEdit, jsonOf } from '../../shared/domain/files/json-edits.ts';
import type { RenderedPatch } from '../../shared/domain/files/render-patch.ts';
import { isBoundedJson } from '../../shared/domain/limits/is-bounded-json.ts';
import { jsonProblem } from '../../shared/domain/syntax/json-problem.ts';
import { firstInvalidByte } from '../../shared/domain/text/invalid-utf8.ts';
import { BRACKETS, endOfString, endOfValue, type Span, skipSeparator, skipSpace } from './json-scanner.ts';

/** Patches for the content of one file. */
export interface FilePatches {
  /** The edits of each patch, in the order of the patches. */
  steps: JsonEdit[][];
  /** Identifies exactly these patches. */
  hash: string;
}

/** Open brackets are recorded, and eight megabytes of them wouldn't fit into memory. */
const BOUNDS = { depth: Number.POSITIVE_INFINITY, parts: 500_000 };

/** Returns the patches for a file, named relative to the mapping's source; undefined if there are none. */
export function patchesFor(patches: RenderedPatch[], file: string): FilePatches | undefined {
  const steps = patches.filter(({ matches }) => matches(file)).map(({ edits }) => edits);
  if (steps.length === 0) return undefined;
  const sorted = steps.map((edits) => edits.map(({ path, json }) => JSON.stringify([path, json])).sort());
  return { steps, hash: createHash('sha256').update(JSON.stringify(sorted)).digest('hex') };
}

/** The patched content, or the problem. */
export type PatchedContent = { kind: 'content'; content: Buffer } | { kind: 'problem'; message: string };

/** Applies the patches in sequence. Content that isn't UTF-8 is a problem, as in RFC 8259. */
export function applyPatches(given: Buffer, { steps }: FilePatches): PatchedContent {
  const problem = (message: string): PatchedContent => ({
    kind: 'problem',
    message: `cannot be patched: it ${message}`,
  });
  const invalid = firstInvalidByte(given);
  if (invalid !== undefined) return problem(`isn't UTF-8 at byte ${invalid}`);
  if (!isBoundedJson(given, BOUNDS)) return problem(`contains more than ${BOUNDS.parts} keys and values`);
  const syntax = jsonProblem(given.toString('utf8', startOf(given)));
  if (syntax) return problem(`isn't JSON (RFC 8259): see line ${syntax.line}, column ${syntax.column}`);
  let content = given;
  for (const edits of steps) {
    const result = patchJson(content, edits);
    if (result.kind === 'problem') return problem(result.message);
    content = result.content;
  }
  return { kind: 'content', content };
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

const startOf = (content: Buffer): number =>
  content.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;

/** Thrown by the edits and caught at the top: the target of a patch doesn't exist or has the wrong type. */
class PlaceError extends Error {}

/**
 * Puts values into a valid JSON text (RFC 8259), and leaves every other byte unchanged: numbers are never parsed, and
 * keys keep their order and white space. A missing key is added at the end of its object, with the objects that it
 * needs; elements of an array are named by their index and must exist. One pass finds all targets, and another writes
 * the result, so that the cost for a large file doesn't multiply with the values.
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

/** Replacement text for a span. */
interface Splice extends Span {
  text: string;
}

interface PatchTarget {
  tree: EditTree;
  /** Keys that lead here. */
  path: string[];
}

/** A member of an object: the spans of its name and value. */
interface Member {
  key: Span;
  value: Span;
}

/** Finds the targets of edits in the order of the text. Descends only into values that they name, recursively. */
class Places {
  readonly found: Splice[] = [];
  readonly #content: Buffer;

  constructor(content: Buffer) {
    this.#content = content;
  }

  /** Records the edits of the value that starts at `start`, and returns its end. */
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
  /** Start of the object. */
  start: number;
  /** End of the second-to-last member, or else the start of the object. */
  before: number;
  last: Member | undefined;
  missing: Map<string, EditTree>;
}

/** Maximum white space copied for each new key: a file might contain megabytes of it. */
const MAX_SPACE = 200;

/** New members copy the white space of the last one before the key and around the colon, unless it is too long. */
function added(content: Buffer, { start, before, last, missing }: Addition): Splice {
  const textOf = (span: Span, instead: string): string =>
    span.end - span.start > MAX_SPACE ? instead : content.toString('latin1', span.start, span.end);
  const space = last ? textOf({ start: skipSpace(content, before) + 1, end: last.key.start }, ' ') : '';
  const colon = last ? textOf({ start: last.key.end, end: last.value.start }, ': ') : ': ';
  const list = [...missing].map(([key, child]) => `${JSON.stringify(key)}${colon}${jsonOf(child)}`);
  const end = last?.value.end ?? start + 1;
  const text = last ? list.map((member) => `,${space}${member}`).join('') : list.join(', ');
  return { start: end, end, text };
}

/** The splices must be sorted by position. */
function splice(content: Buffer, splices: Splice[]): Buffer {
  const pieces: Buffer[] = [];
  let from = 0;
  for (const { start, end, text } of splices) {
    pieces.push(content.subarray(from, start), Buffer.from(text));
    from = end;
  }
  return Buffer.concat([...pieces, content.subarray(from)]);
}
