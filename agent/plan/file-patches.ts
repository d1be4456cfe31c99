import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { isBoundedJson } from '../../shared/domain/is-bounded-json.ts';
import { type EditTree, editTree, type JsonEdit, jsonOf } from '../../shared/domain/json-edits.ts';
import type { RenderedPatch } from '../../shared/domain/render-patch.ts';
import { elementsAt, type Member, membersAt, type Span, valueAt } from './json-scanner.ts';

/** What is done to the content of one file. */
export interface FilePatches {
  /** The edits of each patch, in the order of the patches. */
  steps: JsonEdit[][];
  /** Tells whether a file went through exactly these. */
  hash: string;
}

/** What is parsed takes many times the room of its text: eight megabytes of brackets would not fit. */
const BOUNDS = { depth: Number.POSITIVE_INFINITY, parts: 500_000 };

/** The patches that are meant for a file, named relative to the mapping's source; undefined where there is none. */
export function patchesFor(patches: RenderedPatch[], file: string): FilePatches | undefined {
  const steps = patches.filter(({ matches }) => matches(file)).map(({ edits }) => edits);
  if (steps.length === 0) return undefined;
  const sorted = steps.map((edits) => edits.map(({ path, json }) => JSON.stringify([path, json])).sort());
  return { steps, hash: createHash('sha256').update(JSON.stringify(sorted)).digest('hex') };
}

/** Carries the patches out, one after the other. Content that is no UTF-8 is a problem, as RFC 8259 has it. */
export function applyPatches(
  content: Buffer,
  { steps }: FilePatches,
): { kind: 'content'; content: Buffer } | { kind: 'problem'; message: string } {
  if (!isUtf8(content)) return { kind: 'problem', message: 'cannot be patched: it is no UTF-8' };
  if (!isBoundedJson(content, BOUNDS)) {
    return { kind: 'problem', message: `cannot be patched: it holds more than ${BOUNDS.parts} keys and values` };
  }
  let text = content.toString('utf8');
  for (const edits of steps) {
    const result = patchJson(text, edits);
    if (result.kind === 'problem') return { kind: 'problem', message: `cannot be patched: it ${result.message}` };
    text = result.text;
  }
  return { kind: 'content', content: Buffer.from(text) };
}

/** The text with the values in their places, or what is wrong. */
export type Patched = { kind: 'patched'; text: string } | { kind: 'problem'; message: string };

/** Text to be put in the place of a span. */
interface Splice extends Span {
  text: string;
}

/** Told by the edits and caught at the top: the place of a patch does not exist, or is not one. */
class PlaceError extends Error {}

/**
 * Puts values into a JSON text (RFC 8259) and leaves every other character as it is: numbers are never parsed, keys
 * keep their order and white space stays. A key that is missing is added at the end of its object, with the objects
 * that it needs; elements of an array are named by their index and must be there.
 */
export function patchJson(text: string, edits: JsonEdit[]): Patched {
  const edited = editTree(edits);
  if (edited.kind === 'problem') return edited;
  const start = text.startsWith('\ufeff') ? 1 : 0;
  try {
    JSON.parse(text.slice(start));
  } catch (error) {
    return { kind: 'problem', message: `is no JSON: ${(error as Error).message.slice(0, 100)}` };
  }
  try {
    const splices = placesOf(text, { at: valueAt(text, start), tree: edited.tree, path: [] });
    return { kind: 'patched', text: splice(text, splices) };
  } catch (error) {
    if (error instanceof PlaceError) return { kind: 'problem', message: error.message };
    throw error;
  }
}

interface Place {
  at: Span;
  tree: EditTree;
  /** Keys that lead here. */
  path: string[];
}

function placesOf(text: string, { at, tree, path }: Place): Splice[] {
  if (tree.kind === 'value') return [{ ...at, text: tree.json }];
  if (text[at.start] === '{') return inObject(text, { at, tree, path });
  if (text[at.start] === '[') return inArray(text, { at, tree, path });
  throw new PlaceError(`has no object at ${path.join('.') || 'its top'}`);
}

function inObject(text: string, { at, tree, path }: Place): Splice[] {
  if (tree.kind === 'value') return [];
  const members = membersAt(text, at.start);
  const missing = new Map(tree.children);
  const splices = members.flatMap(({ name, value }) => {
    const child = tree.children.get(name);
    if (!child) return [];
    const inner = [...path, name];
    if (!missing.delete(name)) throw new PlaceError(`has the key ${inner.join('.')} more than once`);
    return placesOf(text, { at: value, tree: child, path: inner });
  });
  return missing.size === 0 ? splices : [...splices, added(text, { at, members, missing })];
}

function inArray(text: string, { at, tree, path }: Place): Splice[] {
  if (tree.kind === 'value') return [];
  const elements = elementsAt(text, at.start);
  return [...tree.children].flatMap(([key, child]) => {
    const inner = [...path, key];
    const element = /^(0|[1-9]\d{0,8})$/.test(key) ? elements[Number(key)] : undefined;
    if (!element) throw new PlaceError(`has no element ${inner.join('.')}: the array holds ${elements.length}`);
    return placesOf(text, { at: element, tree: child, path: inner });
  });
}

interface Addition {
  at: Span;
  members: Member[];
  missing: Map<string, EditTree>;
}

/** White space that is copied for each new key, at most: somebody may have put megabytes of it into a file. */
const MOST_SPACE = 200;

/** New members look like the last one: the same white space before the key and around the colon, unless there is very much of it. */
function added(text: string, { at, members, missing }: Addition): Splice {
  const last = members.at(-1);
  const before = members.at(-2)?.value.end ?? at.start;
  const spaceOfLast = last ? text.slice(before, last.key.start).replace(/^\s*[{,]/, '') : '';
  const colonOfLast = last ? text.slice(last.key.end, last.value.start) : ': ';
  const space = spaceOfLast.length > MOST_SPACE ? ' ' : spaceOfLast;
  const colon = colonOfLast.length > MOST_SPACE ? ': ' : colonOfLast;
  const list = [...missing].map(([key, child]) => `${JSON.stringify(key)}${colon}${jsonOf(child)}`);
  const end = last?.value.end ?? at.start + 1;
  const inserted = last ? list.map((member) => `,${space}${member}`).join('') : list.join(', ');
  return { start: end, end, text: inserted };
}

/** The last places first: those before them keep their positions. */
function splice(text: string, splices: Splice[]): string {
  const ordered = splices.sort((a, b) => b.start - a.start);
  return ordered.reduce((result, { start, end, text: put }) => result.slice(0, start) + put + result.slice(end), text);
}
