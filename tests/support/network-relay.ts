import { connect, createServer, type Server, type Socket } from 'node:net';
import process from 'node:process';

/**
 * Listens on a Unix socket, which two network namespaces can share: the first line of a connection is the port of
 * `host` that the rest is sent to.
 */
export function relayFromSocket(file: string, host: string): Server {
  return createServer((socket) => {
    socket
      .on('error', () => {})
      .once('readable', () => {
        const head: Buffer = socket.read();
        const end = head.indexOf('\n');
        socket.unshift(head.subarray(end + 1));
        join(socket, connect(Number(head.subarray(0, end)), host));
      });
  }).listen(file);
}

/** Opens a connection to a port behind {@link relayFromSocket}. */
export function connectBySocket(file: string, port: number): Socket {
  const socket = connect(file);
  socket.write(`${port}\n`);
  return socket;
}

function join(one: Socket, other: Socket): void {
  one.on('error', () => other.destroy()).pipe(other);
  other.on('error', () => one.destroy()).pipe(one);
}

/** Runs in the namespace: accepts data from outside, and forwards connections to one of the ports. */
async function relay(inward: string, outward: string, ports: number[]): Promise<void> {
  const servers = [relayFromSocket(inward, '::1')];
  for (const port of ports) {
    const server = createServer((socket) => join(socket, connectBySocket(outward, port)));
    servers.push(server.listen(port, '::1'));
  }
  await Promise.all(
    servers.map((server) => server.listening || new Promise((resolve) => server.on('listening', resolve))),
  );
  process.stdout.write('relaying\n');
}

const [, , inward, outward, ...ports] = process.argv;
if (import.meta.main && inward && outward) await relay(inward, outward, ports.map(Number));
