import { isUtf8 } from 'node:buffer';

const REPLACEMENT = '\uFFFD';

/** Returns the offset of the first byte that isn't UTF-8; undefined if there is none. */
export function firstInvalidByte(content: Buffer): number | undefined {
  if (isUtf8(content)) return undefined;
  const text = content.toString('utf8');
  let offset = 0;
  let from = 0;
  for (let at = text.indexOf(REPLACEMENT); at !== -1; at = text.indexOf(REPLACEMENT, at + 1)) {
    offset += Buffer.byteLength(text.slice(from, at));
    from = at;
    // Content can hold that character itself.
    if (content[offset] !== 0xef || content[offset + 1] !== 0xbf || content[offset + 2] !== 0xbd) return offset;
  }
  return undefined;
}
