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
 * Checks whether JSON is safe to parse by counting brackets and commas, because 2 MB of brackets become 60 MB of objects.
 * Accepts invalid JSON as well.
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
