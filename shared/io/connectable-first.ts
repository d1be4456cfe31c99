import { once } from 'node:events';
import { connect } from 'node:net';

/** Timeout per address if there are several (ms), enough for one lost packet. */
export const CONNECT_MS = 3_000;

/**
 * Moves the first address that accepts a connection to the front, because git and curl wait for minutes for a silent one.
 * Throws an `AggregateError` if none does. A single address isn't tried.
 */
export async function connectableFirst(addresses: [string, ...string[]], port: number): Promise<[string, ...string[]]> {
  if (addresses.length === 1) return addresses;
  const failures: unknown[] = [];
  for (const address of addresses) {
    try {
      await tryConnection(address, port);
      return [address, ...addresses.filter((other) => other !== address)];
    } catch (error) {
      failures.push(error);
    }
  }
  throw new AggregateError(failures, 'no address accepts a connection');
}

async function tryConnection(host: string, port: number): Promise<void> {
  const socket = connect({ host, port, timeout: CONNECT_MS });
  socket.once('timeout', () => socket.destroy(timedOut()));
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}

const timedOut = () => Object.assign(new Error('connection timed out'), { code: 'ETIMEDOUT', syscall: 'connect' });
