import { once } from 'node:events';
import { connect } from 'node:net';

/** Time that each of several addresses has for a connection, in milliseconds: enough for one lost packet. */
export const CONNECT_MS = 3_000;

/**
 * Puts the first address that takes a connection in front of the others: git and curl wait for minutes for one that is
 * silent. Throws an `AggregateError` if none does. A single address is not tried.
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
