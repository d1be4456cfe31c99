import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Logger } from '../../log.ts';

/**
 * Address on which a server accepts IPv6 and IPv4 connections: `::`, or `0.0.0.0`, with a log line, if the kernel has
 * no IPv6.
 */
export async function anyAddress(log: Logger): Promise<string> {
  const server = createServer();
  try {
    server.listen(0, '::');
    await once(server, 'listening');
    return '::';
  } catch (err) {
    log.warn({ err }, 'the kernel has no IPv6; listening on IPv4 only');
    return '0.0.0.0';
  } finally {
    server.close();
  }
}
