import { createServer, type Socket } from 'node:net';
import type { Scope } from './clean-up.ts';
import { openPort } from './open-port.ts';

/** Starts a TCP server on a free port of 127.0.0.1 until the test ends, and returns the port. */
export async function startTcpServer(t: Scope, onConnection: (socket: Socket) => unknown): Promise<number> {
  const server = createServer((socket) => void onConnection(socket.on('error', () => {})));
  return await openPort(t, server);
}
