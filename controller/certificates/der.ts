import { isIPv4 } from 'node:net';

// As much of DER (ITU-T X.690) as certificates need, to write them and to read them.

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
export const nothing = encode(0x05);
export const yes = encode(0x01, Buffer.of(0xff));

/** A number of 0 or more: its bytes, the highest first, which must be below 128. */
export const integer = (bytes: Uint8Array): Buffer => encode(0x02, bytes);

/** Values under a tag that only their place explains, such as `[3] EXPLICIT`. */
export const explicit = (number: number, ...contents: Uint8Array[]): Buffer => encode(0xa0 | number, ...contents);

/** Bytes under such a tag in place of their own, such as `[2] IMPLICIT`. */
export const implicit = (number: number, content: Uint8Array): Buffer => encode(0x80 | number, content);

/** Bits, the highest of the first byte first; those at the end that are `unused` do not count. */
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

/** A time, from milliseconds since 1970, in seconds; https://www.rfc-editor.org/rfc/rfc5280#section-4.1.2.5. */
export function time(at: number): Buffer {
  const digits = `${new Date(at).toISOString().replace(/[-T:]|\..*$/g, '')}Z`;
  return at < YEAR_2050 ? encode(0x17, Buffer.from(digits.slice(2))) : encode(0x18, Buffer.from(digits));
}

/** The bytes of an IP address. */
export function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  // A URL writes it in one form only: without leading zeros, and without an IPv4 address at its end.
  const halves = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [before = [], after = []] = halves.map((half) => half.split(':').filter(Boolean));
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/** A value that was read: all its bytes, and those after tag and length. */
export interface Value {
  tag: number;
  bytes: Buffer;
  content: Buffer;
}

/** Reads values that follow one another. Throws RangeError where the last one is cut off. */
export function decode(bytes: Buffer): Value[] {
  const values: Value[] = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes.readUInt8(at + 1);
    const longer = first < 0x80 ? 0 : first & 0x7f;
    const start = at + 2 + longer;
    const end = start + (longer === 0 ? first : bytes.readUIntBE(at + 2, longer));
    if (end > bytes.length) throw new RangeError('a value of DER is cut off');
    values.push({ tag: bytes.readUInt8(at), bytes: bytes.subarray(at, end), content: bytes.subarray(start, end) });
    at = end;
  }
  return values;
}
