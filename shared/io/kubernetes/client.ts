import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { ApiError } from './api-error.ts';
import { Connections } from './connections.ts';
import type { ApiCredentials } from './credentials.ts';

/** Time that a call may take if the caller says nothing, in milliseconds. */
const DEFAULT_TIMEOUT_MS = 15_000;

export type Query = Record<string, string | number | boolean | undefined>;

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below the server, such as `/api/v1/pods`. */
  path: string;
  query?: Query;
  body?: unknown;
  contentType?: string;
  accept?: string;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

export interface ClientOptions {
  userAgent: string;
  /** Connections at most, beside those of watches. */
  maxSockets?: number;
  /** Told of every call that ended: for metrics. `code` is the HTTP status, or 0 where no answer came. */
  onCall?: (method: string, code: number, seconds: number) => void;
  /** Told of the `Date` header of every answer, as soon as it is there. */
  onServerTime?: (date: string | undefined) => void;
}

/**
 * A thin client of the Kubernetes API over kept-alive connections. It parses JSON and nothing else; objects are as
 * the server sent them.
 */
export class KubernetesClient {
  readonly #credentials: ApiCredentials;
  readonly #options: ClientOptions;
  readonly #calls: Connections;
  /** Watches hold their connections for minutes and must not use up those of the calls. */
  readonly #watches: Connections;

  constructor(credentials: ApiCredentials, options: ClientOptions) {
    this.#credentials = credentials;
    this.#options = options;
    this.#calls = new Connections(options.maxSockets ?? 16);
    this.#watches = new Connections(Number.POSITIVE_INFINITY);
  }

  /** Sends one request and gives the parsed answer. Throws {@link ApiError}, or the error of a broken connection. */
  async request<T>(request: ApiRequest): Promise<T> {
    const timeout = AbortSignal.timeout(request.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    const signal = request.signal ? AbortSignal.any([timeout, request.signal]) : timeout;
    const response = await this.#send({ ...request, signal }, this.#calls);
    return JSON.parse(await readText(response)) as T;
  }

  /** Sends a request whose answer is read as it comes: a watch. The caller's signal ends it. */
  stream(request: ApiRequest): Promise<IncomingMessage> {
    return this.#send(request, this.#watches);
  }

  get<T>(path: string, options: Partial<ApiRequest> = {}): Promise<T> {
    return this.request<T>({ method: 'GET', path, ...options });
  }

  create<T>(path: string, body: unknown, options: Partial<ApiRequest> = {}): Promise<T> {
    return this.request<T>({ method: 'POST', path, body, ...options });
  }

  replace<T>(path: string, body: unknown, options: Partial<ApiRequest> = {}): Promise<T> {
    return this.request<T>({ method: 'PUT', path, body, ...options });
  }

  delete<T>(path: string, options: Partial<ApiRequest> = {}): Promise<T> {
    return this.request<T>({ method: 'DELETE', path, ...options });
  }

  /** JSON merge patch (RFC 7386): null removes a key. */
  mergePatch<T>(path: string, body: unknown, options: Partial<ApiRequest> = {}): Promise<T> {
    return this.request<T>({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json', ...options });
  }

  /** Server-side apply; `fieldManager` belongs into `options.query`. */
  apply<T>(path: string, body: unknown, options: Partial<ApiRequest> = {}): Promise<T> {
    return this.request<T>({ method: 'PATCH', path, body, contentType: 'application/apply-patch+yaml', ...options });
  }

  /** Gives up all idle connections. */
  close(): void {
    this.#calls.closeIdle();
    this.#watches.closeIdle();
  }

  async #send(request: ApiRequest, connections: Connections): Promise<IncomingMessage> {
    const started = performance.now();
    const report = (code: number) => this.#options.onCall?.(request.method, code, (performance.now() - started) / 1000);
    try {
      let response = await this.#exchange(request, connections);
      if (response.statusCode === 401) {
        response.resume();
        await this.#credentials.get(true);
        response = await this.#exchange(request, connections);
      }
      const status = response.statusCode ?? 0;
      this.#options.onServerTime?.(response.headers.date);
      report(status);
      if (status < 300) return response;
      throw new ApiError(status, await readText(response), response.headers['retry-after']);
    } catch (error) {
      if (!(error instanceof ApiError)) report(0);
      throw error;
    }
  }

  /** A connection that was kept alive may have been closed by the server just now: one more try on a new one. */
  async #exchange(request: ApiRequest, connections: Connections): Promise<IncomingMessage> {
    try {
      return await this.#attempt(request, connections);
    } catch (error) {
      if (!(error instanceof StaleConnectionError)) throw error;
      return await this.#attempt(request, connections);
    }
  }

  async #attempt(request: ApiRequest, connections: Connections): Promise<IncomingMessage> {
    const { method, path, query, body, contentType, accept, signal } = request;
    const access = await this.#credentials.get();
    const url = new URL(path.replace(/^\//, ''), this.#credentials.server);
    for (const [key, value] of Object.entries(query ?? {})) {
      if (value !== undefined) url.searchParams.set(key, String(value));
    }
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const headers = {
      ...access.headers,
      Accept: accept ?? 'application/json',
      'User-Agent': this.#options.userAgent,
      ...(payload ? { 'Content-Type': contentType ?? 'application/json', 'Content-Length': payload.length } : {}),
    };
    const agent = connections.agentFor(url, access);
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const outgoing = send(url, { method, headers, agent, ...(signal ? { signal } : {}) }, resolve);
      outgoing.once('error', (error: NodeJS.ErrnoException) => {
        const stale = outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
        reject(stale ? new StaleConnectionError('the connection was closed', { cause: error }) : error);
      });
      outgoing.end(payload);
    });
  }
}

class StaleConnectionError extends Error {}

/** By events: an asynchronous iteration costs as much as all the rest of a small call. */
function readText(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    response.on('error', reject);
    response.on('close', () => reject(new Error('the connection broke before the answer was complete')));
  });
}
