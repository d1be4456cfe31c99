import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { cleanUp, type Scope } from './clean-up.ts';

/** Starts a TCP server on a free port of 127.0.0.1 until the test ends, and returns the port. */
export async function startTcpServer(t: Scope, onConnection: (socket: Socket) => unknown): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    onConnection(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(t, () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
