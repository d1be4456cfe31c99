import type { IncomingMessage } from 'node:http';

export type Body = HeldBody | { kind: 'tooLarge' } | { kind: 'busy' } | { kind: 'slow' } | { kind: 'aborted' };

export interface BodyLimits {
  /** Bytes of one body at most. */
  maxBytes: number;
  /** Bytes of all bodies that are held at most, beyond the first {@link FREE_BYTES} of each. */
  budgetBytes: number;
  /** Time that a body may take, in milliseconds. */
  timeoutMs?: number;
}

/**
 * Reads the body of a request. A body whose sender is trusted is never given up for another one's sake.
 */
export type ReadBody = (request: IncomingMessage, options?: { isTrusted?: boolean }) => Promise<Body>;

/** So much of each body is read whatever the others hold, so that large bodies cannot lock out the usual ones. */
const FREE_BYTES = 32 * 1024;
const DEFAULT_TIMEOUT_MS = 15_000;

/** The bytes of a body. They count as held until they are released, by whoever has made of them what is needed. */
class HeldBody {
  readonly kind = 'read';
  #bytes: Buffer;
  readonly #onRelease: () => void;

  constructor(bytes: Buffer, onRelease: () => void) {
    this.#bytes = bytes;
    this.#onRelease = onRelease;
  }

  /** Empty once they are released. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  release(): void {
    this.#bytes = Buffer.alloc(0);
    this.#onRelease();
  }
}

/**
 * Makes a function that reads bodies from the stream of Node itself, since going through a web request costs most of the
 * speed. Whoever sends them, all bodies together hold a bounded amount of memory: where it is used up, the one that
 * comes in slowest makes room, so that nobody can hold it by sending nothing.
 */
export function createReadBody(limits: BodyLimits): ReadBody {
  const { maxBytes, budgetBytes, timeoutMs = DEFAULT_TIMEOUT_MS } = limits;
  const underWay = new Set<Incoming>();
  let held = 0;

  const makeRoom = (bytes: number) => {
    while (held + bytes > budgetBytes) {
      const slowest = slowestOf(underWay);
      if (!slowest) return false;
      slowest.refuse('busy');
    }
    return true;
  };

  return (request, { isTrusted = false } = {}) =>
    new Promise((resolve) => {
      const incoming: Incoming = { isTrusted, size: 0, charged: 0, started: performance.now(), refuse };
      let chunks: Buffer[] = [];

      function uncharge(): void {
        held -= incoming.charged;
        incoming.charged = 0;
      }
      function end(body: Body): void {
        clearTimeout(timer);
        underWay.delete(incoming);
        chunks = [];
        if (body.kind !== 'read') uncharge();
        resolve(body);
      }
      function refuse(kind: 'tooLarge' | 'busy' | 'slow'): void {
        if (!underWay.has(incoming)) return;
        request.off('data', keep);
        // Who is too slow is not waited for any longer: the answer closes the connection.
        if (kind === 'slow') request.pause();
        else discard(request, maxBytes);
        end({ kind });
      }
      function keep(chunk: Buffer): void {
        incoming.size += chunk.length;
        const cost = Math.max(0, incoming.size - FREE_BYTES) - incoming.charged;
        if (incoming.size > maxBytes) refuse('tooLarge');
        else if (cost > 0 && !makeRoom(cost)) refuse('busy');
        // The slowest may have been this one itself.
        if (!underWay.has(incoming)) return;
        incoming.charged += cost;
        held += cost;
        chunks.push(chunk);
      }

      const timer = setTimeout(() => refuse('slow'), timeoutMs);
      underWay.add(incoming);
      if (request.destroyed) return end({ kind: 'aborted' });
      request.on('end', () => underWay.has(incoming) && end(new HeldBody(joined(chunks), uncharge)));
      request.on('error', () => underWay.has(incoming) && end({ kind: 'aborted' }));
      request.on('close', () => underWay.has(incoming) && end({ kind: 'aborted' }));
      if (Number(request.headers['content-length'] ?? 0) > maxBytes) refuse('tooLarge');
      else request.on('data', keep);
    });
}

/** A body that is coming in; times are those of `performance.now()`. */
interface Incoming {
  isTrusted: boolean;
  size: number;
  /** Bytes that count against the budget. */
  charged: number;
  started: number;
  refuse(kind: 'busy'): void;
}

/** Of those that hold something and are nobody's we know, the one with the fewest bytes for its time. */
function slowestOf(bodies: Iterable<Incoming>): Incoming | undefined {
  const now = performance.now();
  let slowest: Incoming | undefined;
  let lowest = Number.POSITIVE_INFINITY;
  for (const body of bodies) {
    if (body.isTrusted || body.charged === 0) continue;
    const rate = body.size / (now - body.started);
    if (rate < lowest) [slowest, lowest] = [body, rate];
  }
  return slowest;
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
