import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/**
 * Sends a request once its connection is ready, or ends it with the error that `refusal` gives at that moment. Node would
 * take the bytes at once, and let them go whenever there is a connection: in a process that was stopped or asleep that
 * is before any timer fires.
 */
export function sendWhenReady(request: ClientRequest, payload: string | Buffer | undefined, refusal: Refusal): void {
  const send = () => {
    if (request.destroyed) return;
    const error = refusal();
    if (error) request.destroy(error);
    else request.end(payload);
  };
  request.once('socket', (socket) => {
    if (isReady(socket)) send();
    else socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', send);
  });
}

/** Why nothing may be sent now; undefined if it may. */
export type Refusal = () => Error | undefined;

/** `reusedSocket` does not say so: it is false for a request that waited until a connection was free. */
function isReady(socket: Socket): boolean {
  return socket instanceof TLSSocket ? socket.getPeerFinished() !== undefined : !socket.connecting;
}
