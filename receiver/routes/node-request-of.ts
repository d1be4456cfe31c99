import type { IncomingMessage } from 'node:http';
import type { H3Event } from 'h3';

/** The request of Node that an event of h3 stands for. */
export function nodeRequestOf(event: H3Event): IncomingMessage {
  const request = event.runtime?.node?.req as IncomingMessage | undefined;
  if (!request) throw new TypeError('the receiver runs on the HTTP server of Node');
  return request;
}
