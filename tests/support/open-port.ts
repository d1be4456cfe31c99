import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { cleanUp, type Scope } from './clean-up.ts';

/** Makes a TCP, TLS, or HTTP server listen on a free port until the test ends, and returns the port. */
export async function openPort(t: Scope, server: Server, address = '127.0.0.1'): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket.once('close', () => sockets.delete(socket))));
  await once(server.listen(0, address), 'listening');
  cleanUp(t, () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}
