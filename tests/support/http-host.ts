import { createServer, type RequestListener } from 'node:http';
import type { Scope } from './clean-up.ts';
import { openPort } from './open-port.ts';

/** Starts an HTTP server that is stopped after the test, and returns its URL. */
export async function startHttpHost(t: Scope, listener: RequestListener, address = '127.0.0.1'): Promise<string> {
  return `http://${address}:${await openPort(t, createServer(listener), address)}`;
}
