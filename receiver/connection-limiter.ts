import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { networkOf } from '../shared/domain/text/ip-address.ts';

export interface ConnectionLimits {
  /** Maximum number of connections. */
  max: number;
  /**
   * Number of connections that one address (IPv6: one /64 network) keeps when all are in use. Its other ones make room
   * for other addresses, as do connections of the address with the most. 0: no limit per address, for proxies.
   */
  maxPerAddress: number;
  /** Timeout of request headers (ms), 10 s by default. */
  headTimeoutMs?: number | undefined;
  /** Called for each connection that is closed to make room, or rejected. */
  onDrop: () => void;
}

/** State of a connection; times are from `performance.now()`. */
type State =
  /** Opened, or part of a header has arrived after the last response. */
  | { kind: 'head'; since: number }
  /** A request has begun, and its response or the rest of its body is pending. */
  | { kind: 'request'; since: number }
  /** Idle after a response. */
  | { kind: 'idle'; since: number };

interface Connection {
  socket: Socket;
  address: string;
  state: State;
  /** Requests without a response. */
  unanswered: number;
  /** The last response if the connection isn't idle. The rest of the request's body may still follow. */
  last: ServerResponse | undefined;
  /** Bytes received at the last check, and the time of the last increase. */
  bytes: number;
  progressAt: number;
}

const HEAD_TIMEOUT_MS = 10_000;
const SWEEP_MS = 1000;
/** Time without a complete header after which a connection makes room for others (ms). */
const FIRST_HEAD_MS = 1000;
/** Time without any data after which it does if no other can (ms): clients send at once. */
const SILENT_MS = 100;
/** Time without new body data after which it does (ms). */
const STALLED_MS = 2000;
const TIMED_OUT = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

/**
 * Limits the connections of a server, so that no address can use them all. A burst from one address can use idle
 * capacity. When all are in use, a new connection replaces the one that has been idle longest, or one of the address
 * with the most, if that has more than the new one's address. Otherwise it is closed at once.
 *
 * Slow headers are aborted. Node checks them every 30 s unless the server is created with
 * `connectionsCheckingInterval`: remove the sweep as soon as listhen passes options to the server.
 */
export class ConnectionLimiter {
  readonly #connections = new Map<string, Connection>();
  readonly #limits: ConnectionLimits;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Watches the connections of a server, whose request listener must be from {@link guard}. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#add(socket));
    const sweep = setInterval(() => this.#sweep(server), SWEEP_MS);
    sweep.unref();
    server.once('close', () => clearInterval(sweep));
  }

  /**
   * Follows the requests of each connection, and rejects those that don't name exactly one host (RFC 9112, section 3.2),
   * so that they cost the program nothing.
   */
  guard(listener: RequestListener): RequestListener {
    return (request, response) => {
      const connection = this.#connections.get(keyOf(request.socket));
      if (!connection) return listener(request, response);
      connection.unanswered += 1;
      connection.last = response;
      connection.state = { kind: 'request', since: performance.now() };
      response.once('close', () => {
        connection.unanswered -= 1;
        if (connection.unanswered === 0 && connection.last?.req.complete) markIdle(connection);
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
    // A client may have reused the port before this close event.
    socket.once('close', () => this.#connections.get(key) === connection && this.#connections.delete(key));
    const surplus = surplusOf(connection, [...this.#connections.values()], this.#limits);
    if (!surplus) return;
    this.#limits.onDrop();
    surplus.socket.destroy();
  }

  #sweep(server: Server): void {
    const now = performance.now();
    const { headTimeoutMs = HEAD_TIMEOUT_MS } = this.#limits;
    for (const connection of this.#connections.values()) {
      updateState(connection, now);
      const { state, socket } = connection;
      if (state.kind === 'head' && now - state.since > headTimeoutMs) timeOut(socket, server);
    }
  }
}

/** HTTP/1.0 doesn't require a Host header. */
function namesOneHost({ httpVersion, headersDistinct: { host = [] } }: IncomingMessage): boolean {
  return host.length === 1 || (host.length === 0 && httpVersion === '1.0');
}

/** Updates the state of a connection. */
function updateState(connection: Connection, now: number): void {
  const { socket, state, last, unanswered } = connection;
  if (socket.bytesRead !== connection.bytes) connection.progressAt = now;
  if (state.kind === 'request' && unanswered === 0 && last?.req.complete) markIdle(connection);
  // After an idle period, new data can only be the beginning of a header.
  else if (state.kind === 'idle' && socket.bytesRead !== connection.bytes)
    connection.state = { kind: 'head', since: now };
  connection.bytes = socket.bytesRead;
}

function markIdle(connection: Connection): void {
  connection.state = { kind: 'idle', since: performance.now() };
  connection.last = undefined;
  connection.bytes = connection.socket.bytesRead;
}

/** With TLS, requests and connections have different sockets, but the same addresses. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/**
 * Returns the connection to close for a new one, or undefined if there is room. No connection is closed for an address
 * with more connections than its owner.
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

/** Returns whether no client waits for a response on it: it is idle, or its data has stopped. */
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

/** Sends a response in plain HTTP, like Node. With TLS only Node could. */
function timeOut(socket: Socket, server: Server): void {
  if (server instanceof SecureServer) socket.destroy();
  else socket.end(TIMED_OUT, () => socket.destroy());
}
