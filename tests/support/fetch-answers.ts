import { createHash } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { deflateSync } from 'node:zlib';
import { DELIMITER, FLUSH, packet } from '../../controller/polling/pkt-line.ts';

/** The first lines of a git server; https://git-scm.com/docs/protocol-v2. */
export const CAPABILITIES = `${['version 2\n', 'fetch=shallow filter\n', 'object-format=sha1\n'].map(packet).join('')}${FLUSH}`;

/** A response to a fetch: a pack, and URLs of other packs; https://git-scm.com/docs/packfile-uri. */
export function fetchAnswer(objects: Buffer[], uris: string[] = []): Buffer {
  const head = Buffer.from('PACK\0\0\0\x02\0\0\0\0');
  head.writeUInt32BE(objects.length, 8);
  const content = Buffer.concat([head, ...objects]);
  const pack = Buffer.concat([content, createHash('sha1').update(content).digest()]);
  const places = uris.map((uri) => packet(`${'0'.repeat(40)} ${uri}\n`)).join('');
  const sections = [...(places ? [`${packet('packfile-uris\n')}${places}${DELIMITER}`] : []), packet('packfile\n')];
  return Buffer.concat([Buffer.from(sections.join('')), ...linesOf(pack), Buffer.from(FLUSH)]);
}

/** Packet lines of the first side band, which hold at most 65,515 bytes each. */
function* linesOf(pack: Buffer): Generator<Buffer> {
  for (let start = 0; start < pack.length; start += 65_515) {
    const data = pack.subarray(start, start + 65_515);
    yield Buffer.from(`${(data.length + 5).toString(16).padStart(4, '0')}\x01`);
    yield data;
  }
}

/** A delta to an object that doesn't exist; https://git-scm.com/docs/pack-format. */
export const withoutBase = (): Buffer =>
  Buffer.concat([Buffer.from([0x74]), Buffer.alloc(20, 0x22), deflateSync(Buffer.from([1, 1, 1, 0x41]))]);

/** Sends the same response to all fetches over HTTP. */
export function answerFetches(answer: () => Buffer): RequestListener {
  return async (request, response) => {
    await request.resume().toArray();
    const isFetch = request.method === 'POST';
    response.setHeader('content-type', `application/x-git-upload-pack-${isFetch ? 'result' : 'advertisement'}`);
    response.end(isFetch ? answer() : `${packet('# service=git-upload-pack\n')}${FLUSH}${CAPABILITIES}`);
  };
}
