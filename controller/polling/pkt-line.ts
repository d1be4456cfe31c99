/** A line of git's wire format: a payload, or one of the markers flush, delimiter and response end. */
export type Packet = Buffer | 'flush' | 'delimiter' | 'end';

const markers: Record<string, Packet> = { '0000': 'flush', '0001': 'delimiter', '0002': 'end' };

/** One line in pkt-line format; https://git-scm.com/docs/gitprotocol-common#_pkt_line_format. */
export function packet(text: string): string {
  return (Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text;
}

export const FLUSH = '0000';
export const DELIMITER = '0001';

/** Splits a complete answer into its lines, without their trailing line feeds. Throws on anything malformed. */
export function* readPackets(data: Buffer): Generator<Packet> {
  for (let offset = 0; offset < data.length; ) {
    const prefix = data.toString('latin1', offset, offset + 4);
    const marker = markers[prefix];
    const length = marker ? 4 : Number.parseInt(prefix, 16);
    if (!/^[0-9a-f]{4}$/i.test(prefix) || length < 4 || offset + length > data.length) {
      throw new Error('malformed pkt-line');
    }
    yield marker ?? withoutLineFeed(data.subarray(offset + 4, offset + length));
    offset += length;
  }
}

function withoutLineFeed(payload: Buffer): Buffer {
  return payload.at(-1) === 10 ? payload.subarray(0, -1) : payload;
}
