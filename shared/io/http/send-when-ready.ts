import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/**
 * Sends a request once its connection is ready, unless `veto` returns an error then. Node would accept the bytes at
 * once, and send them when a connection exists: in a process that was stopped or asleep, that is before any timer
 * fires.
 */
export function sendWhenReady(request: ClientRequest, payload: string | Buffer | undefined, veto: Veto): void {
  const send = () => {
    if (request.destroyed) return;
    const error = veto();
    if (error) request.destroy(error);
    else request.end(payload);
  };
  request.once('socket', (socket) => {
    if (isReady(socket)) send();
    else socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', send);
  });
}

/** Returns the error that forbids sending now, or undefined. */
export type Veto = () => Error | undefined;

/** `reusedSocket` doesn't show it: it is false for a request that waited for a free connection. */
function isReady(socket: Socket): boolean {
  return socket instanceof TLSSocket ? socket.getPeerFinished() !== undefined : !socket.connecting;
}
