/** A line of git's wire format: a payload, or one of the markers flush, delimiter and response end. */
export type Packet = Buffer | 'flush' | 'delimiter' | 'end';

/** A response that isn't in git's wire format, ends in the middle of a line, or has too many short lines. */
export class MalformedPackets extends Error {
  constructor() {
    super('malformed pkt-line');
    this.name = 'MalformedPackets';
  }
}

const markers: Record<string, Packet> = { '0000': 'flush', '0001': 'delimiter', '0002': 'end' };
const PREFIX_BYTES = 4;
/** The longest line that the format allows, its prefix included. */
const MAX_LINE_BYTES = 65_520;
/** Lines that name a commit are longer. Each line costs time, so the number of shorter ones is limited. */
const SHORT_LINE_BYTES = PREFIX_BYTES + 40;
const MAX_SHORT_LINES = 1_000;

/** One line in pkt-line format; https://git-scm.com/docs/gitprotocol-common#_pkt_line_format. */
export function packet(text: string): string {
  return (Buffer.byteLength(text) + PREFIX_BYTES).toString(16).padStart(PREFIX_BYTES, '0') + text;
}

export const FLUSH = '0000';
export const DELIMITER = '0001';

/**
 * Splits a response into its lines as it arrives, without their trailing line feeds. A line is valid until the next one is
 * read. Throws {@link MalformedPackets}.
 */
export async function* readPackets(chunks: AsyncIterable<Buffer>): AsyncGenerator<Packet> {
  // Chunks of a line are joined here, so that each line is in memory only once, however small its chunks are.
  const line = Buffer.allocUnsafe(MAX_LINE_BYTES);
  let held = 0;
  let short = 0;
  const count = (length: number) => {
    if (length < SHORT_LINE_BYTES) short += 1;
    if (short > MAX_SHORT_LINES) throw new MalformedPackets();
  };
  for await (const chunk of chunks) {
    for (let offset = 0; offset < chunk.length; ) {
      const length = held === 0 ? lengthAt(chunk, offset, chunk.length) : lengthAt(line, 0, held);
      if (held === 0 && offset + length <= chunk.length) {
        count(length);
        yield packetAt(chunk, offset, length);
        offset += length;
        continue;
      }
      const copied = chunk.copy(line, held, offset, offset + length - held);
      held += copied;
      offset += copied;
      if (held < PREFIX_BYTES || held < lengthAt(line, 0, held)) continue;
      count(held);
      yield packetAt(line, 0, held);
      held = 0;
    }
  }
  if (held > 0) throw new MalformedPackets();
}

/** Length of the line at this offset (bytes), or of its prefix if that isn't complete yet. */
function lengthAt(data: Buffer, start: number, end: number): number {
  if (end - start < PREFIX_BYTES) return PREFIX_BYTES;
  const prefix = data.toString('latin1', start, start + PREFIX_BYTES);
  if (markers[prefix]) return PREFIX_BYTES;
  const length = Number.parseInt(prefix, 16);
  if (!/^[0-9a-f]{4}$/i.test(prefix) || length < PREFIX_BYTES || length > MAX_LINE_BYTES) throw new MalformedPackets();
  return length;
}

function packetAt(data: Buffer, offset: number, length: number): Packet {
  const marker = length === PREFIX_BYTES && markers[data.toString('latin1', offset, offset + PREFIX_BYTES)];
  if (marker) return marker;
  const end = offset + length;
  const hasLineFeed = length > PREFIX_BYTES && data[end - 1] === 10;
  return data.subarray(offset + PREFIX_BYTES, hasLineFeed ? end - 1 : end);
}
