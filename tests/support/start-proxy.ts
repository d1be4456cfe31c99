import { createServer, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { openPort } from './open-port.ts';

export interface ForwardProxy {
  /** Port on the loopback interface. */
  port: number;
  /** Its requests, in order: `CONNECT host:port`, or method and URL. */
  requests: string[];
}

/** A forward proxy (RFC 9110, 7.6 and 9.3.6) that resolves every host to this machine, so that unknown names work. */
export async function startProxy(t: TestContext): Promise<ForwardProxy> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const { port, pathname, search } = new URL(request.url ?? '');
    const { method, headers } = request;
    const outgoing = httpRequest({ host: '127.0.0.1', port, path: `${pathname}${search}`, method, headers });
    outgoing.on('response', (incoming) => {
      response.writeHead(incoming.statusCode ?? 502, incoming.headers);
      incoming.pipe(response);
    });
    // Either side may close the connection early, for example the server when its test is over.
    outgoing.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
    response.on('close', () => outgoing.destroy());
    request.pipe(outgoing);
  });
  server.on('connect', (request, client: Socket) => {
    requests.push(`CONNECT ${request.url}`);
    const target = connect(Number(request.url?.split(':').at(-1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.pipe(client).pipe(target);
    });
    for (const socket of [client, target]) socket.on('error', () => client.destroy());
    client.on('close', () => target.destroy());
  });
  return { port: await openPort(t, server), requests };
}
