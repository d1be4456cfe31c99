import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cleanUp, type Scope } from './clean-up.ts';

/** Starts an HTTP server that is stopped after the test, and returns its URL. */
export async function startHttpHost(t: Scope, listener: RequestListener, address = '127.0.0.1'): Promise<string> {
  const server = createServer(listener).listen(0, address);
  await once(server, 'listening');
  cleanUp(t, () => server.close().closeAllConnections());
  return `http://${address}:${(server.address() as AddressInfo).port}`;
}
