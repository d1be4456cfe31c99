import type { IncomingMessage } from 'node:http';
import { networkOf } from '../../domain/ip-address.ts';
import { areTiny } from './bytes-of.ts';

export type Body = HeldBody | { kind: Refusal } | { kind: 'aborted' };

/** Who is `slow`, or sends `tinyPieces`, is not waited for any longer: the answer has to close the connection. */
type Refusal = 'tooLarge' | 'busy' | 'slow' | 'tinyPieces';

export interface BodyLimits {
  /** Bytes of one body at most. */
  maxBytes: number;
  /** Bytes of all bodies that are held at most, beyond the first {@link FREE_BYTES} of each. */
  budgetBytes: number;
  /**
   * Of these, what one address (of IPv6: one /64 network) keeps when another one needs room that has less. Without it,
   * addresses do not matter, as those of proxies.
   */
  budgetBytesPerAddress?: number;
  /** Time that a body may take, in milliseconds. */
  timeoutMs?: number;
}

/** Reads the body of a request. A body whose sender is trusted is given up for another one's sake less readily. */
export type ReadBody = (request: IncomingMessage, options?: { isTrusted?: boolean }) => Promise<Body>;

const EMPTY = Buffer.alloc(0);
/** So much of each body is read whatever the others hold, so that large bodies cannot lock out the usual ones. */
const FREE_BYTES = 32 * 1024;
const DEFAULT_TIMEOUT_MS = 15_000;
const HALF_LIFE_MS = 250;
/** So many times faster counts a body whose sender is trusted: it may be on a slow line, but not stand still. */
const TRUST = 4;

/** The bytes of a body. They count as held until they are released, by whoever has made of them what is needed. */
interface HeldBody {
  kind: 'read';
  /** Empty once they are released. */
  bytes: Buffer;
  release(): void;
}

/**
 * Makes a function that reads bodies from the stream of Node itself, since going through a web request costs most of the
 * speed. Whoever sends them, all bodies together hold a bounded amount of memory: where it is used up, the one that
 * comes in slowest makes room, so that nobody can hold it by sending nothing.
 */
export function createReadBody(limits: BodyLimits): ReadBody {
  const budget = new Budget(limits);
  return (request, { isTrusted = false } = {}) =>
    new Promise((resolve) => new Incoming(request, { limits, budget, isTrusted, resolve }).start());
}

/** The memory that all bodies share. */
class Budget {
  /** Bodies that are coming in and hold some of it. */
  readonly holders = new Set<Incoming>();
  readonly #bytes: number;
  readonly #bytesPerAddress: number;
  #held = 0;

  constructor({ budgetBytes, budgetBytesPerAddress = Number.POSITIVE_INFINITY }: BodyLimits) {
    this.#bytes = budgetBytes;
    this.#bytesPerAddress = budgetBytesPerAddress;
  }

  /** Makes room for so many more bytes of a body, if need be at the cost of the slowest one, and tells whether it could. */
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

  /** The bodies of addresses with more than their share; undefined where there are none, or the one that asks is of these. */
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

/** A body that is coming in. */
class Incoming {
  /** Bytes that count against the budget. */
  charged = 0;
  readonly address: string;
  readonly #request: IncomingMessage;
  readonly #options: IncomingOptions;
  readonly #timer: NodeJS.Timeout | undefined;
  #isOver = false;
  /** In one piece: whoever sends a byte at a time would have a hundred times as many bytes in objects around them. */
  #bytes: Buffer = EMPTY;
  #size = 0;
  #pieces = 0;
  /** Bytes of late, of which half are forgotten each {@link HALF_LIFE_MS}, and when that was calculated. */
  #recent = 0;
  #reckonedAt = performance.now();

  constructor(request: IncomingMessage, options: IncomingOptions) {
    this.#request = request;
    this.#options = options;
    this.address = networkOf(request.socket.remoteAddress ?? '');
    // Of most bodies all is there by now.
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

  /** How fast it comes in of late; who is trusted counts as faster. A burst counts for nothing soon after it stalls. */
  get rate(): number {
    this.#reckon(0);
    return this.#recent * (this.#options.isTrusted ? TRUST : 1);
  }

  refuse(kind: Refusal): void {
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
    this.#reckon(chunk.length);
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

  #reckon(bytes: number): void {
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

  /** To what the sender announces where that is free anyway, else to twice the size. */
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

/** Of a body that nobody wants: four times what a receiver takes unless it is told otherwise. */
const UNREAD_BYTES = 4 * 3_145_728;

/**
 * Takes in the rest of a body, so that the sender comes to read the answer: closing the connection on unread bytes
 * would reset it. A sender that goes on for long, or in tiny pieces, is cut off.
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
