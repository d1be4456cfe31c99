import type { IncomingMessage } from 'node:http';
import type { H3Event } from 'h3';
import type { Answer } from './answer-of.ts';

/** `/webhook/{namespace}/{crName}`: gives the answer to the request of Node that an event stands for. */
export function webhookRoute(receive: (request: IncomingMessage) => Promise<Answer>) {
  return async (event: H3Event): Promise<unknown> => {
    const request = event.runtime?.node?.req as IncomingMessage | undefined;
    if (!request) throw new TypeError('the receiver runs on the HTTP server of Node');
    const { status, headers, body } = await receive(request);
    event.res.status = status;
    for (const [name, value] of Object.entries(headers)) event.res.headers.set(name, value);
    return body;
  };
}
