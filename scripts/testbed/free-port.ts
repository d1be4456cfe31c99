import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** First port to use. Each port has a twin, `count` above it, that is never used. */
const first = 20_000;
const count = 6_384;

/**
 * Finds a free port below the range that Linux (32768) and macOS (49152) use for outgoing connections:
 * no connection takes it before its user binds it, or while its user is stopped.
 *
 * The caller's process listens on the port's twin while it lives, so that no other process is given the same port.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = first + randomInt(count);
    const release = (await hold(port + count, '127.0.0.1')) && (await hold(port, '0.0.0.0'));
    await release?.();
    if (release) return port;
  }
  throw new Error(`no free port between ${first} and ${first + count - 1}`);
}

/** Listens on a port without keeping the process alive; returns undefined if the port is taken. */
async function hold(port: number, host: string): Promise<(() => Promise<void>) | undefined> {
  const server = createServer().unref();
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch {
    return undefined;
  }
  return async () => {
    server.close();
    await once(server, 'close');
  };
}
