import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { networkOf } from '../../domain/network-of.ts';

export interface ConnectionLimits {
  /** Connections at most. */
  max: number;
  /**
   * Connections that one address (of IPv6: one /64 network) keeps when all are in use: those beyond make room for other
   * addresses. 0: no limit, as for the addresses of proxies.
   */
  maxPerAddress: number;
  /** Time for the head of a request, in milliseconds. */
  headTimeoutMs: number;
  /** Told of each connection that is closed for another one's sake, or is one too many itself. */
  onDrop: () => void;
}

interface Connection {
  socket: Socket;
  address: string;
  /** Requests that are not yet answered. */
  requests: number;
  /** Whether it has had a request: only then it may wait for as long as the server keeps connections alive. */
  isKnown: boolean;
  /** When it was opened, or its last request began or was answered; times are those of `performance.now()`. */
  since: number;
  /** Bytes that had come in by then. */
  bytesWhenIdle: number;
  /** Since when the head of a request has been on its way. */
  headSince: number | undefined;
}

const SWEEP_MS = 1000;
/** A connection that has sent no whole head for so long makes room for others, in milliseconds. */
const FIRST_HEAD_MS = 1000;
const TIMED_OUT = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

/**
 * Bounds the connections of a server, so that no address can hold them all. A burst from one address may use what nobody
 * else needs. Once all are in use, one more takes the place of the connection that has been idle for longest, or of one
 * whose address has more than its share; otherwise it is closed at once.
 *
 * Heads that trickle are cut off. Node's own check for them runs every 30 s unless the server is made with another
 * `connectionsCheckingInterval`: the sweep can go as soon as listhen passes options to the server that it makes.
 */
export function limitConnections(server: Server, limits: ConnectionLimits): void {
  const connections = new Map<string, Connection>();

  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    const connection: Connection = {
      ...{ socket, address: networkOf(socket.remoteAddress ?? ''), requests: 0, isKnown: false },
      ...{ since: performance.now(), bytesWhenIdle: 0, headSince: undefined },
    };
    connections.set(key, connection);
    socket.once('close', () => connections.delete(key));
    const surplus = surplusOf(connection, [...connections.values()], limits);
    if (!surplus) return;
    limits.onDrop();
    surplus.socket.destroy();
  });

  // Before the program's own listener, which may answer at once.
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(keyOf(request.socket));
    if (!connection) return;
    connection.requests += 1;
    connection.isKnown = true;
    connection.since = performance.now();
    response.once('close', () => {
      connection.requests -= 1;
      connection.since = performance.now();
      connection.bytesWhenIdle = connection.socket.bytesRead;
      connection.headSince = undefined;
    });
  });

  const sweep = setInterval(() => {
    const now = performance.now();
    for (const connection of connections.values()) {
      if (connection.requests > 0 || isResting(connection)) continue;
      connection.headSince ??= connection.isKnown ? now : connection.since;
      if (now - connection.headSince > limits.headTimeoutMs) timeOut(connection.socket, server);
    }
  }, SWEEP_MS);
  sweep.unref();
  server.once('close', () => clearInterval(sweep));
}

/** Of TLS, requests have another socket than connections: the addresses are the same. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** The connection that has to go now that there is one more; undefined where there is room for all. */
function surplusOf(newcomer: Connection, all: Connection[], { max, maxPerAddress }: ConnectionLimits) {
  if (all.length <= max) return undefined;
  const isGreedy = greedyAmong(all, maxPerAddress);
  const others = all.filter((each) => each !== newcomer);
  const greedy = others.filter(({ address }) => isGreedy(address));
  if (isGreedy(newcomer.address)) return oldest(others.filter(isIdle).filter(isOf(newcomer.address))) ?? newcomer;
  return oldest(greedy.filter(isIdle)) ?? oldest(others.filter(isIdle)) ?? oldest(greedy) ?? newcomer;
}

/** Tells which addresses have more than their share. */
function greedyAmong(all: Connection[], maxPerAddress: number): (address: string) => boolean {
  const byAddress = Map.groupBy(all, ({ address }) => address);
  return (address) => maxPerAddress > 0 && (byAddress.get(address)?.length ?? 0) > maxPerAddress;
}

const isOf =
  (wanted: string) =>
  ({ address }: Connection): boolean =>
    address === wanted;

/** Of those whose last request began or was answered first. */
function oldest(connections: Connection[]): Connection | undefined {
  return connections.sort((a, b) => a.since - b.since)[0];
}

/** Nobody waits for an answer on it, and no head is to be expected any moment. */
function isIdle(connection: Connection): boolean {
  if (connection.requests > 0) return false;
  return isResting(connection) || (!connection.isKnown && performance.now() - connection.since > FIRST_HEAD_MS);
}

/** Nothing has come in since the last answer. */
function isResting({ isKnown, socket, bytesWhenIdle }: Connection): boolean {
  return isKnown && socket.bytesRead === bytesWhenIdle;
}

/** In plain text an answer can be written, as Node does; within TLS only Node could. */
function timeOut(socket: Socket, server: Server): void {
  if (server instanceof SecureServer) socket.destroy();
  else socket.end(TIMED_OUT, () => socket.destroy());
}
