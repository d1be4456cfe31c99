import type { IncomingMessage } from 'node:http';
import { networkOf } from '../../domain/text/ip-address.ts';
import { areTiny } from './bytes-of.ts';

export type Body = HeldBody | { kind: BodyProblem } | { kind: 'aborted' };

/** After `slow` or `tinyPieces`, the response must close the connection. */
type BodyProblem = 'tooLarge' | 'busy' | 'slow' | 'tinyPieces';

export interface BodyLimits {
  /** Maximum size of a body (bytes). */
  maxBytes: number;
  /** Memory for all bodies (bytes), beyond the first {@link FREE_BYTES} of each. */
  budgetBytes: number;
  /**
   * Memory that one address (IPv6: one /64 network) keeps if another address with less needs room. If omitted,
   * addresses are ignored, for proxies.
   */
  budgetBytesPerAddress?: number;
  /** Timeout of a body (ms). */
  timeoutMs?: number;
}

/** Reads the body of a request. A body from a trusted sender is less likely to be abandoned for another one. */
export type ReadBody = (request: IncomingMessage, options?: { isTrusted?: boolean }) => Promise<Body>;

const EMPTY = Buffer.alloc(0);
/** Bytes of each body that are always read, so that large bodies can't lock out the usual ones. */
const FREE_BYTES = 32 * 1024;
const DEFAULT_TIMEOUT_MS = 15_000;
const HALF_LIFE_MS = 250;
/** Speed factor of bodies from trusted senders: their connection can be slow, but must not stall. */
const TRUST = 4;

/** The bytes of a body, which use memory of the budget until the reader releases them. */
interface HeldBody {
  kind: 'read';
  /** Empty after the release. */
  bytes: Buffer;
  release(): void;
}

/**
 * Creates a function that reads bodies from Node's stream, because a web request is several times slower. All bodies
 * together use limited memory. When it is used up, the slowest body is abandoned, so that a client can't hold memory
 * without sending.
 */
export function createReadBody(limits: BodyLimits): ReadBody {
  const budget = new Budget(limits);
  return (request, { isTrusted = false } = {}) =>
    new Promise((resolve) => new Incoming(request, { limits, budget, isTrusted, resolve }).start());
}

/** Memory shared by all bodies. */
class Budget {
  /** Incoming bodies that use some of it. */
  readonly holders = new Set<Incoming>();
  readonly #bytes: number;
  readonly #bytesPerAddress: number;
  #held = 0;

  constructor({ budgetBytes, budgetBytesPerAddress = Number.POSITIVE_INFINITY }: BodyLimits) {
    this.#bytes = budgetBytes;
    this.#bytesPerAddress = budgetBytesPerAddress;
  }

  /** Reserves bytes for a body, if necessary by abandoning the slowest one. Returns whether it succeeded. */
  take(bytes: number, body: Incoming): boolean {
    while (this.#held + bytes > this.#bytes) {
      const bodies = this.#surplusFor(bytes, body) ?? [body, ...this.holders];
      const slowest = bodies.reduce((slowest, each) => (each.rate < slowest.rate ? each : slowest));
      if (slowest === body) return false;
      slowest.refuse('busy');
    }
    this.#held += bytes;
    this.holders.add(body);
    return true;
  }

  give(bytes: number): void {
    this.#held -= bytes;
  }

  /** Returns the bodies of addresses above their share, or undefined if there are none or `asking` is one of them. */
  #surplusFor(bytes: number, asking: Incoming): Incoming[] | undefined {
    const heldBy = new Map([[asking.address, bytes]]);
    for (const { address, charged } of this.holders) heldBy.set(address, (heldBy.get(address) ?? 0) + charged);
    const hasMore = ({ address }: Incoming) => (heldBy.get(address) ?? 0) > this.#bytesPerAddress;
    const surplus = hasMore(asking) ? [] : [...this.holders].filter(hasMore);
    return surplus.length > 0 ? surplus : undefined;
  }
}

interface IncomingOptions {
  limits: BodyLimits;
  budget: Budget;
  isTrusted: boolean;
  resolve: (body: Body) => void;
}

/** An incoming body. */
class Incoming {
  /** Bytes charged to the budget. */
  charged = 0;
  readonly address: string;
  readonly #request: IncomingMessage;
  readonly #options: IncomingOptions;
  readonly #timer: NodeJS.Timeout | undefined;
  #isOver = false;
  /** A single buffer, because a client that sends single bytes would fill a hundred times the memory with objects. */
  #bytes: Buffer = EMPTY;
  #size = 0;
  #pieces = 0;
  /** Recent bytes, halved every {@link HALF_LIFE_MS}, and the time of the calculation. */
  #recent = 0;
  #reckonedAt = performance.now();

  constructor(request: IncomingMessage, options: IncomingOptions) {
    this.#request = request;
    this.#options = options;
    this.address = networkOf(request.socket.remoteAddress ?? '');
    // Most bodies are complete by now.
    if (request.complete) return;
    this.#timer = setTimeout(() => this.refuse('slow'), options.limits.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  }

  start(): void {
    const request = this.#request;
    request.on('end', () => this.#end(this.#heldBody()));
    request.on('error', () => this.#end({ kind: 'aborted' }));
    request.on('close', () => this.#end({ kind: 'aborted' }));
    if (request.destroyed) this.#end({ kind: 'aborted' });
    else if (Number(request.headers['content-length'] ?? 0) > this.#options.limits.maxBytes) this.refuse('tooLarge');
    else request.on('data', this.#keep);
  }

  #heldBody(): HeldBody {
    const release = () => {
      body.bytes = EMPTY;
      this.#uncharge();
    };
    const body: HeldBody = { kind: 'read', bytes: this.#bytes.subarray(0, this.#size), release };
    return body;
  }

  /** Returns the recent speed, multiplied for trusted senders. A burst has no effect soon after it stalls. */
  get rate(): number {
    this.#updateRate(0);
    return this.#recent * (this.#options.isTrusted ? TRUST : 1);
  }

  refuse(kind: BodyProblem): void {
    if (this.#isOver) return;
    this.#request.off('data', this.#keep);
    if (kind === 'slow') this.#request.pause();
    else if (kind === 'tinyPieces') this.#request.socket.pause();
    else discard(this.#request, 4 * this.#options.limits.maxBytes);
    this.#end({ kind });
  }

  readonly #keep = (chunk: Buffer): void => {
    const size = this.#size + chunk.length;
    this.#pieces += 1;
    this.#updateRate(chunk.length);
    if (size > this.#options.limits.maxBytes) this.refuse('tooLarge');
    else if (areTiny(this.#pieces, size)) this.refuse('tinyPieces');
    else if (this.#charge(size)) this.#append(chunk);
    else this.refuse('busy');
  };

  #append(chunk: Buffer): void {
    const size = this.#size + chunk.length;
    if (size > this.#bytes.length) this.#grow(size);
    chunk.copy(this.#bytes, this.#size);
    this.#size = size;
  }

  #updateRate(bytes: number): void {
    const now = performance.now();
    this.#recent = this.#recent * 2 ** ((this.#reckonedAt - now) / HALF_LIFE_MS) + bytes;
    this.#reckonedAt = now;
  }

  #charge(size: number): boolean {
    const cost = Math.max(0, size - FREE_BYTES - this.charged);
    if (cost > 0 && !this.#options.budget.take(cost, this)) return false;
    this.charged += cost;
    return true;
  }

  /** Grows to the announced size if that is free, or else to twice the size. */
  #grow(size: number): void {
    const announced = Number(this.#request.headers['content-length'] ?? 0);
    const { maxBytes } = this.#options.limits;
    const capacity = announced <= FREE_BYTES ? Math.max(announced, 2 * size) : 2 * size;
    const grown = Buffer.allocUnsafeSlow(Math.min(capacity, maxBytes));
    this.#bytes.copy(grown, 0, 0, this.#size);
    this.#bytes = grown;
  }

  #end(body: Body): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.charged > 0) this.#options.budget.holders.delete(this);
    clearTimeout(this.#timer);
    this.#bytes = EMPTY;
    if (body.kind !== 'read') this.#uncharge();
    this.#options.resolve(body);
  }

  #uncharge(): void {
    this.#options.budget.give(this.charged);
    this.charged = 0;
  }
}

/** Limit for discarded bodies: four times the receiver's default limit. */
const UNREAD_BYTES = 4 * 3_145_728;

/**
 * Discards the rest of a body, so that the sender can read the response: closing a connection with unread bytes would
 * reset it. Aborts if the sender takes long, or sends tiny pieces.
 */
export function discard(request: IncomingMessage, maxBytes = UNREAD_BYTES): void {
  let discarded = 0;
  let pieces = 0;
  request.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    pieces += 1;
    if (discarded > maxBytes || areTiny(pieces, discarded)) request.destroy();
  });
}
