import { isObject } from '../../../shared/domain/text/objects.ts';

type Json = unknown;

/** Whether two JSON values are equal; undefined fields are absent ones. */
export function isEqual(a: Json, b: Json): boolean {
  return a === undefined || b === undefined ? a === b : mergePatchOf(a, b) === undefined;
}

/**
 * Returns the JSON merge patch (RFC 7386) that turns `before` into `after`; undefined if they are equal. Lists are
 * replaced as a whole.
 */
export function mergePatchOf(before: Json, after: Json): Json | undefined {
  if (!isObject(before) || !isObject(after)) return isEqualLeaf(before, after) ? undefined : after;
  const patch: Record<string, Json> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (after[key] === undefined) {
      if (before[key] !== undefined) patch[key] = null;
      continue;
    }
    const difference = mergePatchOf(before[key], after[key]);
    if (difference !== undefined) patch[key] = difference;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

function isEqualLeaf(a: Json, b: Json): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((item, index) => isEqual(item, b[index]));
}
