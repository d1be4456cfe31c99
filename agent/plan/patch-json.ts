import { type EditTree, editTree, type JsonEdit, jsonOf } from '../../shared/domain/json-edits.ts';
import { elementsAt, type Member, membersAt, type Span, valueAt } from './json-scanner.ts';

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

/** New members look like the last one: the same white space before the key and around the colon. */
function added(text: string, { at, members, missing }: Addition): Splice {
  const last = members.at(-1);
  const before = members.at(-2)?.value.end ?? at.start;
  const space = last ? text.slice(before, last.key.start).replace(/^\s*[{,]/, '') : '';
  const colon = last ? text.slice(last.key.end, last.value.start) : ': ';
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
