import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export interface Held {
  port: number;
  /** An address of this machine to connect from. */
  from: string;
  count: number;
  /** First data of each, followed by a byte from time to time; undefined: no data. */
  sends?: string;
}

/**
 * Holds a number of connections until they are released, or the test ends: each closed connection is
 * opened again.
 */
export async function holdConnections(
  t: TestContext,
  { port, from, count, sends }: Held,
): Promise<{ release(): void }> {
  const open = new Set<Socket>();
  let isOver = false;
  const hold = () => {
    const socket = connect({ host: '127.0.0.1', port, localAddress: from });
    open.add(socket.on('error', () => {}).resume());
    if (sends !== undefined) {
      socket.write(sends);
      const drip = setInterval(() => socket.write('x'), 500);
      socket.once('close', () => clearInterval(drip));
    }
    socket.once('close', () => {
      open.delete(socket);
      if (!isOver) setTimeout(hold, 5);
    });
    return socket;
  };
  const release = () => {
    isOver = true;
    for (const socket of open) socket.destroy();
  };
  t.after(release);
  // In sequence, because the kernel drops some connections of a burst, and retries take seconds.
  for (let index = 0; index < count; index += 1) await once(hold(), 'connect');
  return { release };
}
