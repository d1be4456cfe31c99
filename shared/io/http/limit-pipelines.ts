import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';

/** Maximum requests without a response per connection. Proxies and most clients send them one at a time. */
const MAX_UNANSWERED = 16;
/** Error code of Node's parser, which stops reading. */
const STOP = -1;

/** Node's parser of a connection, which calls `onIncoming` with each request that it has read. */
interface Parser {
  onIncoming(request: IncomingMessage, keepAlive: boolean): number;
}

/**
 * Closes connections of clients that send many requests without waiting for responses. Node reads 64 KiB at a time,
 * which can be thousands of requests, and makes objects for each, even if it has closed the connection.
 */
export function limitPipelines(server: Server): void {
  const unanswered = new WeakMap<Socket, number>();
  const countOf = (socket: Socket) => unanswered.get(socket) ?? 0;
  const count = ({ socket }: IncomingMessage, response: ServerResponse) => {
    unanswered.set(socket, countOf(socket) + 1);
    response.once('close', () => unanswered.set(socket, countOf(socket) - 1));
  };
  server.prependListener('request', count);
  // Responses that Node would send by itself are counted as well.
  Object.assign(server, { requireHostHeader: false });
  server.on('checkExpectation', (request, response) => {
    count(request, response);
    response.writeHead(417).end();
  });
  // `onIncoming` is the only place to stop the parser.
  server.on(server instanceof SecureServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    const { parser } = socket as { parser?: Parser };
    if (!parser) return;
    const onIncoming = parser.onIncoming.bind(parser);
    parser.onIncoming = (request, keepAlive) => {
      if (countOf(socket) >= MAX_UNANSWERED) socket.destroy();
      return socket.destroyed ? STOP : onIncoming(request, keepAlive);
    };
  });
}
