import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import { answerTo, NoAnswerError } from '../http/answer-to.ts';
import { type Refusal, sendWhenReady } from '../http/send-when-ready.ts';
import { ApiError } from './api-error.ts';
import { Connections } from './connections.ts';
import { type AccessOptions, type ApiCredentials, unlessUntrusted } from './credentials.ts';
import { CallTimeoutError, deadlineAfter, SilenceError } from './deadline.ts';
import { readText } from './read-answer.ts';

/** Time that a call may take if the caller says nothing, in milliseconds. */
export const DEFAULT_TIMEOUT_MS = 15_000;

/** Bytes of an answer that reports an error: a Status object has a few hundred. */
const MAX_ERROR_BYTES = 64 * 1024;

/** JSON merge patch (RFC 7386). */
export const MERGE_PATCH = 'application/merge-patch+json';

/** Asks the API server for the metadata of an object, and for nothing else. */
export const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

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
  /** Asked right before the request is sent, for each attempt; an error ends the call. */
  refusal?: Refusal;
}

export interface ClientOptions {
  userAgent: string;
  /** Connections at most, apart from those of watches. */
  maxSockets?: number;
  /** URL of a proxy that connects in our place. */
  proxy?: string | undefined;
  /** Called for every call that ended: for metrics. `code` is the HTTP status, or 0 where no answer came. */
  onCall?: (method: string, code: number, seconds: number) => void;
  /** Called with the `Date` header of every answer, as soon as it is there. */
  onServerTime?: (date: string | undefined) => void;
}

/**
 * A thin client of the Kubernetes API over kept-alive connections. It parses JSON and nothing else; objects are as
 * the server sent them.
 */
export class KubernetesClient {
  readonly #credentials: ApiCredentials;
  readonly #options: ClientOptions;
  readonly #server: Server;
  readonly #calls: Connections;
  /** Watches hold their connections for minutes and must not use up those of the calls. */
  readonly #watches: Connections;

  constructor(credentials: ApiCredentials, options: ClientOptions) {
    this.#credentials = credentials;
    this.#options = options;
    this.#server = serverOf(credentials.server);
    this.#calls = new Connections(options.maxSockets ?? 16, options.proxy);
    this.#watches = new Connections(Number.POSITIVE_INFINITY, options.proxy);
  }

  /**
   * Sends one request and gives the parsed answer. One deadline for all of it, from its first attempt to the last byte of
   * its answer. Throws {@link ApiError}, or the error of a broken connection.
   */
  async request<T>(request: ApiRequest): Promise<T> {
    const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const { signal, timer } = deadlineAfter(timeoutMs, () => new CallTimeoutError(timeoutMs), request.signal);
    try {
      return JSON.parse(await readText(await this.#send({ ...request, signal }, this.#calls))) as T;
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends a request whose answer is read as it comes: a watch. The caller's signal ends it. */
  stream(request: ApiRequest): Promise<IncomingMessage> {
    return this.#send(request, this.#watches);
  }

  /** The same, byte by byte. Throws {@link SilenceError} if none comes for a time. */
  async *chunks(request: ApiRequest, idleTimeoutMs: number): AsyncGenerator<Buffer> {
    const { signal, timer } = deadlineAfter(idleTimeoutMs, () => new SilenceError(), request.signal);
    try {
      const response: AsyncIterable<Buffer> = await this.stream({ ...request, signal });
      for await (const chunk of response) {
        timer.refresh();
        yield chunk;
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      clearTimeout(timer);
    }
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
    return this.request<T>({ method: 'PATCH', path, body, contentType: MERGE_PATCH, ...options });
  }

  /** Gives up all idle connections. */
  close(): void {
    this.#calls.closeIdle();
    this.#watches.closeIdle();
  }

  async #send(request: ApiRequest, connections: Connections): Promise<IncomingMessage> {
    const started = performance.now();
    const report = (code: number) => this.#options.onCall?.(request.method, code, (performance.now() - started) / 1000);
    const response = await this.#answered(request, connections).catch((error: unknown) => {
      report(0);
      throw error;
    });
    const status = response.statusCode ?? 0;
    this.#options.onServerTime?.(response.headers.date);
    report(status);
    if (status < 300) return response;
    throw new ApiError(status, await readText(response, MAX_ERROR_BYTES), response.headers['retry-after']);
  }

  /** The answer; after a 401, or without trust in the server, to one more request, with credentials that are asked for again. */
  async #answered(request: ApiRequest, connections: Connections): Promise<IncomingMessage> {
    const access = await this.#credentials.get();
    const response = await this.#exchange(request, connections, access).catch(unlessUntrusted);
    if (response && response.statusCode !== 401) return response;
    response?.resume();
    return await this.#exchange(request, connections, await this.#credentials.get(true));
  }

  /** A connection that was kept alive may have been closed by the server just now: one more try, if that can't do harm. */
  async #exchange(request: ApiRequest, connections: Connections, access: AccessOptions): Promise<IncomingMessage> {
    try {
      return await this.#attempt(request, connections, access);
    } catch (error) {
      if (!(error instanceof StaleConnectionError)) throw error;
      return await this.#attempt(request, connections, access);
    }
  }

  async #attempt(request: ApiRequest, connections: Connections, access: AccessOptions): Promise<IncomingMessage> {
    const { method, path, query, body, contentType, accept, signal, refusal } = request;
    // As a string it goes out in one piece with the headers.
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      ...access.headers,
      Accept: accept ?? 'application/json',
      'User-Agent': this.#options.userAgent,
    };
    if (payload !== undefined) Object.assign(headers, contentHeaders(payload, contentType));
    const { protocol, address, basePath } = this.#server;
    const agent = connections.agentFor(protocol, access);
    const send = protocol === 'https:' ? httpsRequest : httpRequest;
    const outgoing = send({ ...address, path: basePath + path + queryString(query), method, headers, agent });
    if (refusal) sendWhenReady(outgoing, payload, refusal);
    else outgoing.end(payload);
    try {
      return await answerTo(outgoing, signal);
    } catch (error) {
      throw explain(error as NodeJS.ErrnoException, outgoing);
    }
  }
}

/** The parts of a server's URL that every request needs, found out once. */
interface Server {
  protocol: string;
  address: RequestOptions;
  /** Path before the API's own, without a slash at its end: of servers behind a gateway. */
  basePath: string;
}

function serverOf(url: URL): Server {
  const { protocol, hostname, port, auth } = urlToHttpOptions(url);
  const address = { protocol, hostname, port, auth };
  return { protocol: url.protocol, address, basePath: url.pathname.replace(/\/$/, '') };
}

function contentHeaders(payload: string, contentType = 'application/json') {
  return { 'Content-Type': contentType, 'Content-Length': Buffer.byteLength(payload) };
}

function queryString(query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return given
    .map(([key, value], index) => `${index === 0 ? '?' : '&'}${key}=${encodeURIComponent(String(value))}`)
    .join('');
}

/** Methods that have the same effect if they are sent twice (RFC 9110, section 9.2.2). */
const IDEMPOTENT = ['GET', 'PUT', 'DELETE'];

/** A connection that was kept alive turned out to be closed, and the request may be sent again. */
class StaleConnectionError extends Error {
  readonly code = 'ECONNRESET';

  constructor(options: ErrorOptions) {
    super('the connection was closed', options);
  }
}

/** Why a request has no answer, as callers tell errors apart. */
function explain(error: NodeJS.ErrnoException, { reusedSocket, method }: ClientRequest): Error {
  if (error instanceof NoAnswerError) return Object.assign(error, { code: 'EPROTO' });
  // After EPIPE a part of the request was never sent. After ECONNRESET the server may have handled it.
  const mayRepeat = error.code === 'EPIPE' || (error.code === 'ECONNRESET' && IDEMPOTENT.includes(method));
  const isStale = reusedSocket && mayRepeat;
  return isStale ? new StaleConnectionError({ cause: error }) : error;
}
