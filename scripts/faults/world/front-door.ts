import { connect, createServer, type Server, type Socket } from 'node:net';

/** Starts a Service for replicas: each connection goes to the first port that accepts it. */
export function startFrontDoor(port: number, ports: number[]): Server {
  const server = createServer((socket) => void pass(socket, [...ports]));
  return server.listen(port, '127.0.0.1');
}

async function pass(socket: Socket, ports: number[]): Promise<void> {
  socket.on('error', () => {});
  for (const port of ports) {
    const upstream = connect(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>((resolve) => {
      upstream.once('connect', () => resolve(true));
      upstream.once('error', () => resolve(false));
    });
    if (!isOpen) continue;
    upstream.on('error', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
    socket.pipe(upstream).pipe(socket);
    return;
  }
  socket.destroy();
}
