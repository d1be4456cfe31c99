import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, type Server, request as send } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerDetails } from '../../testbed/call-api.ts';
import type { Certificates } from '../../testbed/certificates.ts';

/** A fault of the network to the API server. */
export type ProxyFault =
  /** Every call is delayed (ms). */
  | { delayMs: number }
  /** Every other call is answered with this status. */
  | { status: 429 | 500 | 503 }
  /** Connections are closed when they are opened. */
  | { isUnreachable: true }
  /** No data passes in either direction: calls wait, and open watches are silent. */
  | { isFrozen: true }
  /** Writes are executed, but their responses are lost. */
  | { losesAnswers: true };

/** A proxy between one program and the API server: a network that can be broken. */
export class ApiProxy {
  readonly #server: Server;
  readonly #upstream: string;
  readonly #agent: Agent;
  /** The CA that clients of the proxy must trust. */
  readonly caFile: string;
  readonly #streams = new Map<ServerResponse, IncomingMessage>();
  #fault: ProxyFault | undefined;
  #calls = 0;
  #thaw: () => void = () => {};
  #thawed: Promise<void> = Promise.resolve();

  private constructor(server: Server, agent: Agent, { url, caFile }: Pick<ServerDetails, 'url' | 'caFile'>) {
    this.#server = server;
    this.#upstream = url;
    this.#agent = agent;
    this.caFile = caFile;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async start({ url, caFile }: ServerDetails, certificates: Certificates): Promise<ApiProxy> {
    const files = [certificates.certFile, certificates.keyFile, caFile];
    const [cert, key, ca] = await Promise.all(files.map((file) => readFile(file)));
    const server = createServer({ cert, key });
    // As long as an API server's: a connection that is closed while a request is sent would be one more fault.
    Object.assign(server, { keepAliveTimeout: 180_000, requestTimeout: 0 });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const agent = new Agent({ ca: [ca as Buffer], keepAlive: true });
    return new ApiProxy(server, agent, { url, caFile: certificates.caFile });
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Applies a fault; returns a function that ends it, unless another fault has begun in the meantime. */
  breakBy(fault: ProxyFault): () => void {
    this.#heal();
    this.#fault = fault;
    if ('isFrozen' in fault) this.#freeze();
    if ('isUnreachable' in fault) this.cut();
    return () => {
      if (this.#fault === fault) this.#heal();
    };
  }

  /** Closes all connections. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  stop(): void {
    this.#heal();
    this.#server.close();
    this.cut();
    this.#agent.destroy();
  }

  #freeze(): void {
    this.#thawed = new Promise((resolve) => {
      this.#thaw = resolve;
    });
    for (const [response, answer] of this.#streams) {
      answer.unpipe(response);
      answer.pause();
    }
  }

  #heal(): void {
    const wasFrozen = this.#fault !== undefined && 'isFrozen' in this.#fault;
    this.#fault = undefined;
    this.#thaw();
    if (wasFrozen) for (const [response, answer] of this.#streams) answer.pipe(response);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const fault = this.#fault;
    this.#calls += 1;
    if (fault && 'isUnreachable' in fault) return void request.socket.destroy();
    if (fault && 'status' in fault && this.#calls % 2 === 0) return refuse(response, fault.status);
    if (fault && 'delayMs' in fault) await sleep(fault.delayMs);
    await this.#thawed;
    if (response.destroyed) return;
    const losesAnswer = fault !== undefined && 'losesAnswers' in fault && request.method !== 'GET';
    this.#forward(request, response, losesAnswer);
  }

  #forward(request: IncomingMessage, response: ServerResponse, losesAnswer: boolean): void {
    const { method, url = '/', headers } = request;
    const target = new URL(url, this.#upstream);
    const outgoing = send(target, { method, headers: { ...headers, host: target.host }, agent: this.#agent });
    outgoing.on('error', () => response.destroy());
    outgoing.on('response', (answer) => {
      if (losesAnswer) {
        answer.resume();
        return void response.destroy();
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.on('error', () => response.destroy());
      this.#streams.set(response, answer);
      if (this.#fault && 'isFrozen' in this.#fault) answer.pause();
      else answer.pipe(response);
    });
    response.on('close', () => {
      this.#streams.delete(response);
      if (!response.writableFinished) outgoing.destroy();
    });
    request.pipe(outgoing);
  }
}

/** Responds as the API server does to a call that it rejects early. */
function refuse(response: ServerResponse, code: number): void {
  const reason = code === 429 ? 'TooManyRequests' : 'InternalError';
  const body = JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code, message: reason });
  response
    .writeHead(code, { 'content-type': 'application/json', ...(code === 429 && { 'retry-after': '1' }) })
    .end(body);
}
