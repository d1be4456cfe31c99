/** A piece of a text: from the first byte to the one after the last. */
export interface Span {
  start: number;
  end: number;
}

const [TAB, NEWLINE, RETURN, SPACE] = [0x09, 0x0a, 0x0d, 0x20];
const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [PLUS, MINUS, POINT, ZERO, NINE] = [0x2b, 0x2d, 0x2e, 0x30, 0x39];
const [UPPER_E, LOWER_E, LOWER_U] = [0x45, 0x65, 0x75];
const HEX_DIGITS = 4;
/** The bytes with which objects and arrays begin and end. */
export const BRACKETS = { list: 0x5b, endOfList: 0x5d, object: 0x7b, endOfObject: 0x7d };

const codesOf = (text: string): number[] => [...text].map((char) => char.charCodeAt(0));
const ESCAPED = new Set(codesOf('"\\/bfnrt'));
const HEX = new Set(codesOf('0123456789abcdefABCDEF'));
const LITERALS = ['true', 'false', 'null'].map(codesOf);

/** Whether bytes are JSON; `at` is the first one that must not be there. */
export type JsonCheck = { kind: 'json' } | { kind: 'problem'; at: number };

/**
 * Checks UTF-8 from `start` on against RFC 8259 as `JSON.parse` does, but makes nothing of it: that would take several
 * times the room of the text. Only the brackets that are open are noted.
 */
export function checkJson(bytes: Uint8Array, start: number): JsonCheck {
  const check = new Check(bytes, start);
  return check.isJson() ? { kind: 'json' } : { kind: 'problem', at: check.at };
}

/** Its steps go on behind what they look for, and give false at what is there instead. */
class Check {
  at: number;
  readonly #bytes: Uint8Array;
  /** The bytes that have to close what is open. */
  readonly #closing: number[] = [];

  constructor(bytes: Uint8Array, start: number) {
    this.#bytes = bytes;
    this.at = skipSpace(bytes, start);
  }

  isJson(): boolean {
    for (;;) {
      if (this.#opens()) {
        if (this.#bytes[this.at] !== this.#closing.at(-1)) {
          if (!this.#key()) return false;
          continue;
        }
      } else if (!this.#scalar()) return false;
      while (this.#closes());
      if (this.#closing.length === 0) return this.at === this.#bytes.length;
      if (!(this.#take(COMMA) && this.#key())) return false;
    }
  }

  #opens(): boolean {
    const byte = this.#bytes[this.at];
    if (byte !== BRACKETS.object && byte !== BRACKETS.list) return false;
    this.#closing.push(byte === BRACKETS.object ? BRACKETS.endOfObject : BRACKETS.endOfList);
    return this.#take(byte);
  }

  #closes(): boolean {
    const closing = this.#closing.at(-1);
    if (closing === undefined || !this.#take(closing)) return false;
    this.#closing.pop();
    return true;
  }

  /** In an object, a value has a key; in an array it has none. */
  #key(): boolean {
    return this.#closing.at(-1) === BRACKETS.endOfList || (this.#string() && this.#take(COLON));
  }

  #take(byte: number): boolean {
    if (this.#bytes[this.at] !== byte) return false;
    this.at = skipSpace(this.#bytes, this.at + 1);
    return true;
  }

  #scalar(): boolean {
    const first = this.#bytes[this.at];
    if (first === QUOTE) return this.#string();
    const isThere = first === MINUS || isDigit(first) ? this.#number() : this.#literal();
    this.at = skipSpace(this.#bytes, this.at);
    return isThere;
  }

  #string(): boolean {
    const bytes = this.#bytes;
    if (bytes[this.at] !== QUOTE) return false;
    for (let at = this.at + 1; ; at += 1) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        this.at = skipSpace(bytes, at + 1);
        return true;
      }
      const length = byte === BACKSLASH ? escapeAt(bytes, at + 1) : 0;
      if (byte === undefined || byte < SPACE || (byte === BACKSLASH && length === 0)) {
        this.at = at;
        return false;
      }
      at += length;
    }
  }

  #number(): boolean {
    if (this.#bytes[this.at] === MINUS) this.at += 1;
    const isZero = this.#bytes[this.at] === ZERO;
    if (isZero) this.at += 1;
    else if (!this.#digits()) return false;
    if (this.#bytes[this.at] === POINT) {
      this.at += 1;
      if (!this.#digits()) return false;
    }
    const byte = this.#bytes[this.at];
    if (byte !== LOWER_E && byte !== UPPER_E) return true;
    const sign = this.#bytes[this.at + 1];
    this.at += sign === PLUS || sign === MINUS ? 2 : 1;
    return this.#digits();
  }

  #digits(): boolean {
    const start = this.at;
    while (isDigit(this.#bytes[this.at])) this.at += 1;
    return this.at > start;
  }

  #literal(): boolean {
    const bytes = this.#bytes;
    const found = LITERALS.find((literal) => literal.every((code, index) => bytes[this.at + index] === code));
    this.at += found?.length ?? 0;
    return found !== undefined;
  }
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE;

/** Bytes of an escape after its backslash; 0 for what is none. */
function escapeAt(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== LOWER_U) return ESCAPED.has(bytes[at] ?? 0) ? 1 : 0;
  const digits = bytes.subarray(at + 1, at + 1 + HEX_DIGITS);
  return digits.length === HEX_DIGITS && digits.every((digit) => HEX.has(digit)) ? 1 + HEX_DIGITS : 0;
}

/** The end of the value that begins at `start`. This and what follows needs valid JSON. */
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

/** Counts brackets instead of recursing: a file may be nested as deep as it likes. */
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

/** The end of the string that begins at `start`. */
export function endOfString(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; ; at += 1) {
    if (bytes[at] === BACKSLASH) at += 1;
    else if (bytes[at] === QUOTE) return at + 1;
  }
}

/** Where the next key or element begins after a value that ends at `from`; or the bracket that ends them. */
export function skipSeparator(bytes: Uint8Array, from: number): number {
  const at = skipSpace(bytes, from);
  return bytes[at] === COMMA ? skipSpace(bytes, at + 1) : at;
}

/** The next byte that is no white space. */
export function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isSpace(bytes[at])) at += 1;
  return at;
}

const isSpace = (byte: number | undefined): boolean =>
  byte === SPACE || byte === NEWLINE || byte === RETURN || byte === TAB;
