import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { networkOf } from '../../domain/ip-address.ts';

export interface ConnectionLimits {
  /** Connections at most. */
  max: number;
  /**
   * Connections that one address (of IPv6: one /64 network) keeps at most when all are in use: those beyond make room for
   * other addresses, and so do those of the address with the most. 0: addresses do not matter, as those of proxies.
   */
  maxPerAddress: number;
  /** Time for the head of a request, in milliseconds. */
  headTimeoutMs: number;
  /** Called for each connection that is closed for another one's sake, or is one too many itself. */
  onDrop: () => void;
}

/** What a connection is about; times are those of `performance.now()`. */
type State =
  /** Opened, or a part of a head has come in since the last answer. */
  | { kind: 'head'; since: number }
  /** A request has begun and is not done with: its answer, or the rest of its body, is still to come. */
  | { kind: 'request'; since: number }
  /** Answered, and silent since. */
  | { kind: 'idle'; since: number };

interface Connection {
  socket: Socket;
  address: string;
  state: State;
  /** Requests that are not yet answered. */
  unanswered: number;
  /** The last answer of one that is not at rest: what is left of its request's body may still come in after it. */
  last: ServerResponse | undefined;
  /** Bytes that had come in at the last look, and when they were more than at the look before. */
  bytes: number;
  progressAt: number;
}

const SWEEP_MS = 1000;
/** A connection that waits for a head for so long makes room for others, in milliseconds. */
const FIRST_HEAD_MS = 1000;
/** So does one on which nothing at all has come in for so long, where no other can: senders begin as they connect. */
const SILENT_MS = 100;
/** So does one whose body has stood still for so long. */
const STALLED_MS = 2000;
/** What Node's parser takes for an error: it reads no further. */
const STOP = -1;
/** Requests on one connection that are not yet answered. Proxies send one after the other, most clients too. */
const MAX_UNANSWERED = 16;
const TIMED_OUT = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

/**
 * Bounds the connections of a server, so that no address can hold them all. A burst from one address may use what nobody
 * else needs. Once all are in use, one more takes the place of the connection that has been idle for longest, or of one
 * whose address has the most, and more than its own address; otherwise it is closed at once. Gives the listener for
 * requests, which are not let through to the program where a connection has too many of them unanswered.
 *
 * Heads that trickle are cut off. Node's own check for them runs every 30 s unless the server is made with another
 * `connectionsCheckingInterval`: the sweep can go as soon as listhen passes options to the server that it makes.
 */
export class ConnectionLimiter {
  readonly #connections = new Map<string, Connection>();
  readonly #limits: ConnectionLimits;
  #isClosing = false;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Watches the connections of a server; its listener for requests has to be one that {@link guard} made. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#add(socket));
    server.on(server instanceof SecureServer ? 'secureConnection' : 'connection', stopReadingWhenDestroyed);
    // What Node would answer by itself has to be counted as well.
    Object.assign(server, { requireHostHeader: false });
    server.on(
      'checkExpectation',
      this.guard((_, response) => void response.writeHead(417).end()),
    );
    const sweep = setInterval(() => this.#sweep(server), SWEEP_MS);
    sweep.unref();
    server.once('close', () => clearInterval(sweep));
  }

  /**
   * From now on ends each connection with the answer to its last request, so that no client keeps a closing server
   * waiting. Node itself closes those that are idle.
   */
  closeAfterAnswers(): void {
    this.#isClosing = true;
    for (const { last } of this.#connections.values()) {
      if (last) last.shouldKeepAlive = false;
    }
  }

  /**
   * Puts the limit on unanswered requests before a listener, and refuses those that do not name one host (RFC 9112,
   * section 3.2): what is refused costs the program nothing.
   */
  guard(listener: RequestListener): RequestListener {
    return (request, response) => {
      if (this.#isClosing) response.shouldKeepAlive = false;
      const connection = this.#connections.get(keyOf(request.socket));
      if (!connection) return listener(request, response);
      if (connection.unanswered >= MAX_UNANSWERED) return void request.socket.destroy();
      connection.unanswered += 1;
      connection.last = response;
      connection.state = { kind: 'request', since: performance.now() };
      response.once('close', () => {
        connection.unanswered -= 1;
        if (connection.unanswered === 0 && connection.last?.req.complete) rest(connection);
      });
      if (!namesOneHost(request)) return void response.writeHead(400, { Connection: 'close' }).end();
      return listener(request, response);
    };
  }

  #add(socket: Socket): void {
    const key = keyOf(socket);
    const since = performance.now();
    const connection: Connection = {
      socket,
      address: networkOf(socket.remoteAddress ?? ''),
      state: { kind: 'head', since },
      unanswered: 0,
      last: undefined,
      bytes: 0,
      progressAt: since,
    };
    this.#connections.set(key, connection);
    // A client may have taken the same port again before the end of this one was heard of.
    socket.once('close', () => this.#connections.get(key) === connection && this.#connections.delete(key));
    const surplus = surplusOf(connection, [...this.#connections.values()], this.#limits);
    if (!surplus) return;
    this.#limits.onDrop();
    surplus.socket.destroy();
  }

  #sweep(server: Server): void {
    const now = performance.now();
    for (const connection of this.#connections.values()) {
      look(connection, now);
      const { state, socket } = connection;
      if (state.kind === 'head' && now - state.since > this.#limits.headTimeoutMs) timeOut(socket, server);
    }
  }
}

/**
 * Node goes on with what it has read of a connection, 64 KiB, when the connection is destroyed: that may be thousands of
 * requests, each of which becomes objects. `onIncoming`, which it calls for each head, is the one place to stop it.
 */
function stopReadingWhenDestroyed(socket: Socket): void {
  const { parser } = socket as { parser?: { onIncoming: (request: IncomingMessage, keepAlive: boolean) => number } };
  if (!parser) return;
  const { onIncoming } = parser;
  parser.onIncoming = (request, keepAlive) => (socket.destroyed ? STOP : onIncoming(request, keepAlive));
}

/** HTTP/1.0 knows no hosts. */
function namesOneHost({ httpVersion, headersDistinct: { host = [] } }: IncomingMessage): boolean {
  return host.length === 1 || (host.length === 0 && httpVersion === '1.0');
}

/** Finds out what has happened on a connection since the last look. */
function look(connection: Connection, now: number): void {
  const { socket, state, last, unanswered } = connection;
  if (socket.bytesRead !== connection.bytes) connection.progressAt = now;
  if (state.kind === 'request' && unanswered === 0 && last?.req.complete) rest(connection);
  // Of what comes in after a rest nothing but a head can be the beginning.
  else if (state.kind === 'idle' && socket.bytesRead !== connection.bytes)
    connection.state = { kind: 'head', since: now };
  connection.bytes = socket.bytesRead;
}

function rest(connection: Connection): void {
  connection.state = { kind: 'idle', since: performance.now() };
  connection.last = undefined;
  connection.bytes = connection.socket.bytesRead;
}

/** Of TLS, requests have another socket than connections: the addresses are the same. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/**
 * The connection that has to go now that there is one more; undefined where there is room for all. Nobody makes room for
 * an address that has more connections than his own.
 */
function surplusOf(newcomer: Connection, all: Connection[], { max, maxPerAddress }: ConnectionLimits) {
  if (all.length <= max) return undefined;
  const others = all.filter((each) => each !== newcomer);
  const useless = others.filter(isUseless);
  if (maxPerAddress === 0) return oldest(useless) ?? oldest(others.filter(isSilent)) ?? newcomer;
  const byAddress = Map.groupBy(all, ({ address }) => address);
  const countOf = ({ address }: Connection) => byAddress.get(address)?.length ?? 0;
  const own = countOf(newcomer);
  if (own > maxPerAddress) return oldest(useless.filter(({ address }) => address === newcomer.address)) ?? newcomer;
  const most = Math.max(...all.map(countOf));
  return (
    oldest(useless.filter((each) => countOf(each) > maxPerAddress)) ??
    oldest(useless.filter((each) => countOf(each) >= own)) ??
    oldest(others.filter((each) => countOf(each) === most && most > own)) ??
    oldest(others.filter((each) => isSilent(each) && countOf(each) >= own)) ??
    newcomer
  );
}

function oldest(connections: Connection[]): Connection | undefined {
  return connections.sort((a, b) => a.state.since - b.state.since)[0];
}

/** Nobody waits for an answer on it: it is idle, or what should come in does not. */
function isUseless(connection: Connection): boolean {
  const now = performance.now();
  const { state, last, progressAt } = connection;
  if (state.kind === 'idle') return true;
  if (state.kind === 'head') return now - state.since > FIRST_HEAD_MS;
  return last?.req.complete === false && now - progressAt > STALLED_MS;
}

function isSilent({ socket, state }: Connection): boolean {
  return state.kind === 'head' && socket.bytesRead === 0 && performance.now() - state.since > SILENT_MS;
}

/** In plain text an answer can be written, as Node does; within TLS only Node could. */
function timeOut(socket: Socket, server: Server): void {
  if (server instanceof SecureServer) socket.destroy();
  else socket.end(TIMED_OUT, () => socket.destroy());
}
