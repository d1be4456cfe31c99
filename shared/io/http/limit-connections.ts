import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { networkOf } from '../../domain/network-of.ts';

export interface ConnectionLimits {
  /** Connections at most. */
  max: number;
  /** Connections of one address (of IPv6: one /64 network) at most; 0: no limit, as for the addresses of proxies. */
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
  /** When it was opened, or its last request was answered; times are those of `performance.now()`. */
  idleSince: number;
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
 * Bounds the connections of a server, and of each address. One too many takes the place of the connection that has been
 * idle for longest, of its own address where that has too many; where none is idle it is closed at once.
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
      ...{ idleSince: performance.now(), bytesWhenIdle: 0, headSince: undefined },
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
    response.once('close', () => {
      connection.requests -= 1;
      connection.idleSince = performance.now();
      connection.bytesWhenIdle = connection.socket.bytesRead;
      connection.headSince = undefined;
    });
  });

  const sweep = setInterval(() => {
    const now = performance.now();
    for (const connection of connections.values()) {
      if (connection.requests > 0 || isResting(connection)) continue;
      connection.headSince ??= connection.isKnown ? now : connection.idleSince;
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
function surplusOf(newcomer: Connection, all: Connection[], limits: ConnectionLimits): Connection | undefined {
  const { max, maxPerAddress } = limits;
  const ofAddress = all.filter(({ address }) => address === newcomer.address);
  if (maxPerAddress > 0 && ofAddress.length > maxPerAddress) return longestIdle(ofAddress) ?? newcomer;
  return all.length > max ? (longestIdle(all) ?? newcomer) : undefined;
}

function longestIdle(connections: Connection[]): Connection | undefined {
  const now = performance.now();
  const idle = connections.filter(
    (each) => each.requests === 0 && (isResting(each) || (!each.isKnown && now - each.idleSince > FIRST_HEAD_MS)),
  );
  return idle.sort((a, b) => a.idleSince - b.idleSince)[0];
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
