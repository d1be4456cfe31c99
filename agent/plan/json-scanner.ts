/** A span of a text: from the first byte to the one after the last. */
export interface Span {
  start: number;
  end: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
/** The bytes that open and close objects and arrays. */
export const BRACKETS = { list: 0x5b, endOfList: 0x5d, object: 0x7b, endOfObject: 0x7d };

/** Returns the end of the value that starts at `start`. All functions here require valid JSON. */
export function endOfValue(bytes: Uint8Array, start: number): number {
  const first = bytes[start];
  if (first === QUOTE) return endOfString(bytes, start);
  if (first === BRACKETS.object || first === BRACKETS.list) return endOfContainer(bytes, start);
  let end = start;
  while (end < bytes.length && !isEndOfScalar(bytes[end] ?? 0)) end += 1;
  return end;
}

const isEndOfScalar = (byte: number): boolean =>
  isSpace(byte) || byte === COMMA || byte === BRACKETS.endOfList || byte === BRACKETS.endOfObject;

/** Counts brackets instead of recursing, because the nesting depth is unlimited. */
function endOfContainer(bytes: Uint8Array, start: number): number {
  let depth = 0;
  for (let at = start; ; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at) - 1;
    else if (byte === BRACKETS.object || byte === BRACKETS.list) depth += 1;
    else if (byte === BRACKETS.endOfObject || byte === BRACKETS.endOfList) depth -= 1;
    if (depth === 0) return at + 1;
  }
}

/** Returns the end of the string that starts at `start`. */
export function endOfString(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; ; at += 1) {
    if (bytes[at] === BACKSLASH) at += 1;
    else if (bytes[at] === QUOTE) return at + 1;
  }
}

/** Returns the start of the next key or element after a value that ends at `from`, or the closing bracket. */
export function skipSeparator(bytes: Uint8Array, from: number): number {
  const at = skipSpace(bytes, from);
  return bytes[at] === COMMA ? skipSpace(bytes, at + 1) : at;
}

/** Returns the next byte that isn't white space. */
export function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isSpace(bytes[at])) at += 1;
  return at;
}

/** Checks for white space as in RFC 8259: space, line feed, carriage return, tab. */
const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
