export interface JsonBounds {
  /** Levels of nesting. */
  depth: number;
  /** Values and keys. */
  parts: number;
}

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const OPEN_LIST = 0x5b;
export const CLOSE_LIST = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
const COMMA = 0x2c;
const COLON = 0x3a;

/**
 * Tells whether JSON may be parsed. Two megabytes of brackets become objects of sixty, which with all else is more than
 * the heap holds, and whoever is let in can send them; so brackets and commas are counted before. Needs no valid JSON.
 */
export function isBoundedJson(bytes: Uint8Array, bounds: JsonBounds): boolean {
  let depth = 0;
  let parts = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (byte === QUOTE) index = endOfString(bytes, index);
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      parts += 1;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
    else if (byte === COMMA || byte === COLON) parts += 1;
    if (depth > bounds.depth || parts > bounds.parts) return false;
  }
  return true;
}

function endOfString(bytes: Uint8Array, start: number): number {
  let index = start + 1;
  while (index < bytes.length && bytes[index] !== QUOTE) index += bytes[index] === BACKSLASH ? 2 : 1;
  return index;
}
