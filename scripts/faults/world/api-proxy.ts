import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request as send } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerDetails } from '../../testbed/call-api.ts';
import { type Certificates, readPair } from '../../testbed/certificates.ts';

/** A fault of the network to the API server. */
export interface ProxyFault {
  /** Every call is delayed (ms). */
  delayMs?: number;
  /** Every other call is answered with this status. */
  status?: 429 | 500 | 503;
  /** Connections are closed when they are opened. */
  isUnreachable?: true;
  /** No data passes in either direction: calls wait, and open watches are silent. */
  isFrozen?: true;
  /** Writes are executed, but their responses are lost. */
  losesAnswers?: true;
}

export type ApiProxy = Awaited<ReturnType<typeof startProxy>>;

/** Starts a proxy between one program and the API server: a network that can be broken. */
export async function startProxy(upstream: ServerDetails, certificates: Certificates) {
  const agent = new Agent({ ca: await readFile(upstream.caFile), keepAlive: true });
  const streams = new Map<ServerResponse, IncomingMessage>();
  let fault: ProxyFault | undefined;
  let calls = 0;
  let thawed = Promise.withResolvers<void>();
  thawed.resolve();

  const server = createServer(await readPair(certificates), (request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  // As long as an API server's: a connection that is closed while a request is sent would be one more fault.
  Object.assign(server, { keepAliveTimeout: 180_000, requestTimeout: 0 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { isUnreachable, status, delayMs, losesAnswers } = fault ?? {};
    calls += 1;
    if (isUnreachable) return void request.socket.destroy();
    if (status && calls % 2 === 0) return refuse(response, status);
    if (delayMs) await sleep(delayMs);
    await thawed.promise;
    if (!response.destroyed) forward(request, response, losesAnswers === true && request.method !== 'GET');
  };
  const forward = (request: IncomingMessage, response: ServerResponse, losesAnswer: boolean) => {
    const { method, url = '/', headers } = request;
    const target = new URL(url, upstream.url);
    const outgoing = send(target, { method, headers: { ...headers, host: target.host }, agent });
    outgoing.on('error', () => response.destroy());
    outgoing.on('response', (received) => {
      if (losesAnswer) {
        received.resume();
        return void response.destroy();
      }
      response.writeHead(received.statusCode ?? 502, received.headers);
      response.flushHeaders();
      received.on('error', () => response.destroy());
      streams.set(response, received);
      if (fault?.isFrozen) received.pause();
      else received.pipe(response);
    });
    response.on('close', () => {
      streams.delete(response);
      if (!response.writableFinished) outgoing.destroy();
    });
    request.pipe(outgoing);
  };
  const freeze = () => {
    thawed = Promise.withResolvers<void>();
    for (const [response, received] of streams) {
      received.unpipe(response);
      received.pause();
    }
  };
  const heal = () => {
    const wasFrozen = fault?.isFrozen;
    fault = undefined;
    thawed.resolve();
    if (wasFrozen) for (const [response, received] of streams) received.pipe(response);
  };
  /** Closes all connections. */
  const cut = () => server.closeAllConnections();
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The CA that clients of the proxy must trust. */
    caFile: certificates.caFile,
    /** Applies a fault; returns a function that ends it, unless another fault has begun in the meantime. */
    breakBy: (given: ProxyFault) => {
      heal();
      fault = given;
      if (given.isFrozen) freeze();
      if (given.isUnreachable) cut();
      return () => {
        if (fault === given) heal();
      };
    },
    cut,
    stop: () => {
      heal();
      server.close();
      cut();
      agent.destroy();
    },
  };
}

/** Responds as the API server does to a call that it rejects early. */
function refuse(response: ServerResponse, code: number): void {
  const reason = code === 429 ? 'TooManyRequests' : 'InternalError';
  const body = JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code, message: reason });
  response
    .writeHead(code, { 'content-type': 'application/json', ...(code === 429 && { 'retry-after': '1' }) })
    .end(body);
}
