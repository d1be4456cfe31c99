// The part of DER (ITU-T X.690) that certificates need.

const YEAR_2050 = Date.UTC(2050, 0);

/** One value: tag, length, contents. */
function encode(tag: number, ...contents: Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.of(tag, ...lengthOf(content)), content]);
}

function lengthOf({ length }: Buffer): number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

export const sequence = (...contents: Uint8Array[]): Buffer => encode(0x30, ...contents);
export const set = (...contents: Uint8Array[]): Buffer => encode(0x31, ...contents);
export const octetString = (content: Uint8Array): Buffer => encode(0x04, content);
export const utf8String = (text: string): Buffer => encode(0x0c, Buffer.from(text));
export const yes = encode(0x01, Buffer.of(0xff));

/** A number that is not negative: its bytes in big-endian order, of which the first must be below 128. */
export const integer = (bytes: Uint8Array): Buffer => encode(0x02, bytes);

/** Values inside a context-specific tag, as in `[3] EXPLICIT`. */
export const explicit = (number: number, ...contents: Uint8Array[]): Buffer => encode(0xa0 | number, ...contents);

/** Bytes with a context-specific tag in place of the tag of their type, as in `[2] IMPLICIT`. */
export const implicit = (number: number, content: Uint8Array): Buffer => encode(0x80 | number, content);

/** Bits, starting with the highest of the first byte, without the last `unused` ones. */
export const bitString = (bytes: Uint8Array, unused = 0): Buffer => encode(0x03, Buffer.of(unused), bytes);

/** An object identifier such as `2.5.29.17`. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return encode(0x06, Buffer.from([first * 40 + second, ...others].flatMap(base128)));
}

function base128(number: number): number[] {
  const bytes = [number & 0x7f];
  for (let left = number >> 7; left > 0; left >>= 7) bytes.unshift(0x80 | (left & 0x7f));
  return bytes;
}

/** A time in milliseconds since 1970, written in whole seconds; https://www.rfc-editor.org/rfc/rfc5280#section-4.1.2.5. */
export function time(at: number): Buffer {
  const digits = `${new Date(at).toISOString().replace(/[-T:]|\..*$/g, '')}Z`;
  return at < YEAR_2050 ? encode(0x17, Buffer.from(digits.slice(2))) : encode(0x18, Buffer.from(digits));
}
