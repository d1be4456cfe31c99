import { applyPatches, type PatchedContent } from '../../agent/plan/file-patches.ts';
import {
  BRACKETS,
  endOfString,
  endOfValue,
  type Span,
  skipSeparator,
  skipSpace,
} from '../../agent/plan/json-scanner.ts';
import type { JsonEdit } from '../../shared/domain/files/json-edits.ts';

/**
 * Puts the values of git back at some paths of a JSON text, and removes those that git doesn't have, with the objects
 * that only held them. Every other byte is unchanged.
 */
export function restoreValues(content: Buffer, git: Buffer | undefined, paths: readonly string[][]): PatchedContent {
  for (const text of git ? [content, git] : [content]) {
    const checked = applyPatches(text, { steps: [], hash: '' });
    if (checked.kind === 'problem') return checked;
  }
  let rest = content;
  const edits: JsonEdit[] = [];
  for (const path of outermost(paths)) {
    const value = git && findValue(git, path)?.value;
    if (git && value) edits.push({ path, json: git.toString('utf8', value.start, value.end) });
    else rest = removeValue(rest, path, git);
  }
  return applyPatches(rest, { steps: [edits], hash: '' });
}

/** Reads a JSON Pointer (RFC 6901) that isn't the whole text. */
export const parsePointer = (text: string): string[] | undefined =>
  text.startsWith('/')
    ? text
        .slice(1)
        .split('/')
        .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    : undefined;

/** Returns the paths that aren't inside of others, once each. */
function outermost(paths: readonly string[][]): string[][] {
  const found = new Map(paths.map((path) => [path.join('\0'), path]));
  return [...found.values()].filter(
    (path) => !path.some((_, end) => end > 0 && found.has(path.slice(0, end).join('\0'))),
  );
}

/** A value in a JSON text. */
interface Place {
  value: Span;
  /** The bytes to remove with it; undefined for an element of an array. */
  cut: Span | undefined;
}

function findValue(content: Buffer, path: readonly string[]): Place | undefined {
  let place: Place | undefined = { value: { start: skipSpace(content, startOf(content)), end: 0 }, cut: undefined };
  for (const name of path) place = place && findMember(content, place.value.start, name);
  return place;
}

/** Skips a byte order mark. */
const startOf = (content: Buffer): number => (content[0] === 0xef ? 3 : 0);

/** Finds a member of an object, or an element of an array by its index. */
function findMember(content: Buffer, start: number, name: string): Place | undefined {
  const isObject = content[start] === BRACKETS.object;
  if (!isObject && content[start] !== BRACKETS.list) return undefined;
  const close = isObject ? BRACKETS.endOfObject : BRACKETS.endOfList;
  let before = start + 1;
  let at = skipSpace(content, before);
  for (let index = 0; content[at] !== close; index += 1) {
    const keyEnd = isObject ? endOfString(content, at) : at;
    const key = isObject ? JSON.parse(content.toString('utf8', at, keyEnd)) : String(index);
    const valueStart = isObject ? skipSpace(content, skipSpace(content, keyEnd) + 1) : at;
    const end = endOfValue(content, valueStart);
    const next = skipSeparator(content, end);
    if (key === name) {
      const isFirstOfSeveral = index === 0 && content[next] !== close;
      const cut = isFirstOfSeveral ? { start: at, end: next } : { start: before, end };
      return { value: { start: valueStart, end }, cut: isObject ? cut : undefined };
    }
    before = end;
    at = next;
  }
  return undefined;
}

function removeValue(content: Buffer, path: string[], git: Buffer | undefined): Buffer {
  const cut = findValue(content, path)?.cut;
  if (!cut) return content;
  const rest = Buffer.concat([content.subarray(0, cut.start), content.subarray(cut.end)]);
  const parent = path.slice(0, -1);
  const isKept = parent.length === 0 || (git && findValue(git, parent)) || !isEmptyObject(rest, parent);
  return isKept ? rest : removeValue(rest, parent, git);
}

function isEmptyObject(content: Buffer, path: string[]): boolean {
  const start = findValue(content, path)?.value.start ?? 0;
  return content[start] === BRACKETS.object && content[skipSpace(content, start + 1)] === BRACKETS.endOfObject;
}
