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
  const budget = new Budget(limits.budgetBytes);
  return (request, { isTrusted = false } = {}) =>
    new Promise((resolve) => new Incoming(request, { limits, budget, isTrusted, resolve }).start());
}

/** The memory that all bodies share. */
class Budget {
  readonly underWay = new Set<Incoming>();
  readonly #bytes: number;
  #held = 0;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Makes room for so many bytes, if need be at the cost of the slowest body, and tells whether it could. */
  take(bytes: number): boolean {
    while (this.#held + bytes > this.#bytes) {
      const slowest = slowestOf(this.underWay);
      if (!slowest) return false;
      slowest.refuse('busy');
    }
    this.#held += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#held -= bytes;
  }
}

interface IncomingOptions {
  limits: BodyLimits;
  budget: Budget;
  isTrusted: boolean;
  resolve: (body: Body) => void;
}

/** A body that is coming in. */
class Incoming {
  readonly isTrusted: boolean;
  /** Bytes that count against the budget. */
  charged = 0;
  readonly #request: IncomingMessage;
  readonly #options: IncomingOptions;
  readonly #started = performance.now();
  readonly #timer: NodeJS.Timeout;
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(request: IncomingMessage, options: IncomingOptions) {
    this.#request = request;
    this.#options = options;
    this.isTrusted = options.isTrusted;
    this.#timer = setTimeout(() => this.refuse('slow'), options.limits.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    options.budget.underWay.add(this);
  }

  start(): void {
    const request = this.#request;
    request.on('end', () => this.#end(new HeldBody(joined(this.#chunks), () => this.#uncharge())));
    request.on('error', () => this.#end({ kind: 'aborted' }));
    request.on('close', () => this.#end({ kind: 'aborted' }));
    if (request.destroyed) this.#end({ kind: 'aborted' });
    else if (Number(request.headers['content-length'] ?? 0) > this.#options.limits.maxBytes) this.refuse('tooLarge');
    else request.on('data', this.#keep);
  }

  /** Bytes a millisecond since it began. */
  get rate(): number {
    return this.#size / (performance.now() - this.#started);
  }

  refuse(kind: 'tooLarge' | 'busy' | 'slow'): void {
    if (!this.#options.budget.underWay.has(this)) return;
    this.#request.off('data', this.#keep);
    // Who is too slow is not waited for any longer: the answer closes the connection.
    if (kind === 'slow') this.#request.pause();
    else discard(this.#request, this.#options.limits.maxBytes);
    this.#end({ kind });
  }

  readonly #keep = (chunk: Buffer): void => {
    this.#size += chunk.length;
    if (this.#size > this.#options.limits.maxBytes) this.refuse('tooLarge');
    else if (this.#charge()) this.#chunks.push(chunk);
    else this.refuse('busy');
  };

  /** Tells whether there is room for what has come in: the slowest, which makes room, may be this one itself. */
  #charge(): boolean {
    const { budget } = this.#options;
    const cost = Math.max(0, this.#size - FREE_BYTES - this.charged);
    if (!budget.take(cost)) return false;
    if (!budget.underWay.has(this)) {
      budget.give(cost);
      return false;
    }
    this.charged += cost;
    return true;
  }

  #end(body: Body): void {
    if (!this.#options.budget.underWay.delete(this)) return;
    clearTimeout(this.#timer);
    this.#chunks = [];
    if (body.kind !== 'read') this.#uncharge();
    this.#options.resolve(body);
  }

  #uncharge(): void {
    this.#options.budget.give(this.charged);
    this.charged = 0;
  }
}

/** Of those that hold something and whose sender is not known, the one with the fewest bytes for its time. */
function slowestOf(bodies: Iterable<Incoming>): Incoming | undefined {
  const candidates = [...bodies].filter(({ isTrusted, charged }) => !isTrusted && charged > 0);
  return candidates.sort((a, b) => a.rate - b.rate)[0];
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
