import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Ports that are given out; each has a twin, as far above it, that nobody is given. */
const first = 20_000;
const count = 6_384;

/**
 * Finds a port that nobody listens on, below the range from which Linux (32768) and macOS (49152) number outgoing connections:
 * nothing takes it by chance before its user binds it, or while its user is stopped.
 *
 * The caller's process listens on the port's twin for as long as it lives, so that no other process is given the same port meanwhile.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = first + randomInt(count);
    if ((await hold(port + count, '127.0.0.1')) && (await isFree(port))) return port;
  }
  throw new Error(`no free port between ${first} and ${first + count - 1}`);
}

async function isFree(port: number): Promise<boolean> {
  const release = await hold(port, '0.0.0.0');
  await release?.();
  return release !== undefined;
}

/** Listens on a port without keeping the process alive; nothing where somebody else does. */
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
