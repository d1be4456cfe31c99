import type { IncomingMessage } from 'node:http';

export type Body = { kind: 'read'; bytes: Buffer } | { kind: 'tooLarge' } | { kind: 'busy' } | { kind: 'aborted' };

export interface BodyLimits {
  /** Bytes of one body at most. */
  maxBytes: number;
  /** Bytes of all bodies that are being read at most, beyond the first {@link FREE_BYTES} of each. */
  budgetBytes: number;
}

/** So much of each body is read whatever the others hold, so that large bodies cannot lock out the usual ones. */
const FREE_BYTES = 32 * 1024;

/**
 * Makes a function that reads the body of a request. It takes the stream of Node itself, since going through a web
 * request costs most of the speed. Whoever sends them, bodies under way hold a bounded amount of memory in all.
 */
export function createReadBody({ maxBytes, budgetBytes }: BodyLimits): (request: IncomingMessage) => Promise<Body> {
  let held = 0;

  return (request) =>
    new Promise((resolve) => {
      let chunks: Buffer[] = [];
      let size = 0;
      let charged = 0;

      const end = (body: Body) => {
        held -= charged;
        charged = 0;
        chunks = [];
        resolve(body);
      };
      const keep = (chunk: Buffer) => {
        size += chunk.length;
        const cost = Math.max(0, size - FREE_BYTES) - charged;
        if (size > maxBytes) return refuse('tooLarge');
        if (cost > 0 && held + cost > budgetBytes) return refuse('busy');
        charged += cost;
        held += cost;
        chunks.push(chunk);
      };
      const refuse = (kind: 'tooLarge' | 'busy') => {
        request.off('data', keep);
        // Without memory to spare nothing more is read: the answer closes the connection.
        if (kind === 'busy') request.pause();
        else discard(request, maxBytes);
        end({ kind });
      };

      if (request.destroyed) return end({ kind: 'aborted' });
      request.on('end', () => end({ kind: 'read', bytes: joined(chunks) }));
      request.on('error', () => end({ kind: 'aborted' }));
      request.on('close', () => end({ kind: 'aborted' }));
      if (Number(request.headers['content-length'] ?? 0) > maxBytes) refuse('tooLarge');
      else request.on('data', keep);
    });
}

function joined(chunks: Buffer[]): Buffer {
  const [first] = chunks;
  return first && chunks.length === 1 ? first : Buffer.concat(chunks);
}

/**
 * Takes in the rest of a body, so that the sender comes to read the answer: closing the connection on unread bytes
 * would reset it. A sender that goes on for long is cut off.
 */
function discard(request: IncomingMessage, maxBytes: number): void {
  let discarded = 0;
  request.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > 4 * maxBytes) request.destroy();
  });
}
