import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import type { PatchOperation } from '../../domain/kubernetes/json-patch.ts';
import { withoutUndefined } from '../../domain/text/objects.ts';
import { CodedError, codeOf } from '../../errors.ts';
import { answerTo } from '../http/answer-to.ts';
import { sendWhenReady, type Veto } from '../http/send-when-ready.ts';
import { ApiError } from './api-error.ts';
import { Connections } from './connections.ts';
import { type CallCredentials, type CredentialSource, unlessUntrusted } from './credentials.ts';
import { deadlineAfter, SilenceError } from './deadline.ts';
import { readAnswer } from './read-answer.ts';

/** Default timeout of a call (ms). */
export const DEFAULT_TIMEOUT_MS = 15_000;

/** JSON merge patch (RFC 7386). */
export const MERGE_PATCH = 'application/merge-patch+json';

/** JSON Patch (RFC 6902). */
const JSON_PATCH = 'application/json-patch+json';

/** Requests only the metadata of an object. */
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
  /** Called right before each attempt is sent; an error ends the call. */
  veto?: Veto;
}

export interface ClientOptions {
  userAgent: string;
  /** Maximum number of connections, without watches. */
  maxSockets?: number;
  /** Timeout of each call, and of silence in a list (ms), instead of the defaults; 0: none. */
  callTimeoutMs?: number | undefined;
  /** URL of a proxy. */
  proxy?: string | undefined;
  /** Called after every call, for metrics. `code` is the HTTP status, or 0 without a response. */
  onCall?: (method: string, code: number, seconds: number) => void;
  /** Called with the `Date` header of every response as soon as it arrives, and the start of the call (`performance.now()`). */
  onServerTime?: (date: string | undefined, started: number) => void;
}

/**
 * A thin client of the Kubernetes API over kept-alive connections. It only parses JSON, and returns objects as the
 * server sent them.
 */
export class KubernetesClient {
  readonly #credentials: CredentialSource;
  readonly #options: ClientOptions;
  /** URL of the API server. Its path, for servers behind a gateway, is a prefix of API paths. */
  readonly #address: RequestOptions;
  readonly #calls: Connections;
  /** Watches hold their connections for minutes, and must not use up the connections of calls. */
  readonly #watches: Connections;

  constructor(credentials: CredentialSource, options: ClientOptions) {
    this.#credentials = credentials;
    this.#options = options;
    this.#address = urlToHttpOptions(credentials.server);
    this.#calls = new Connections(options.maxSockets ?? 16, options.proxy);
    this.#watches = new Connections(Number.POSITIVE_INFINITY, options.proxy);
  }

  get callTimeoutMs(): number | undefined {
    return this.#options.callTimeoutMs;
  }

  /** Gets credentials, which can take long if a user has to log in. Throws the error of their source. */
  async authenticate(): Promise<void> {
    await this.#credentials.get();
  }

  /**
   * Sends one request and returns the parsed response. The timeout covers all attempts until the last byte. Throws
   * {@link ApiError}, or the error of a broken connection.
   */
  async request<T>(request: ApiRequest): Promise<T> {
    const timeoutMs = this.callTimeoutMs ?? request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const timeUp = () => new CodedError(`no complete response within ${timeoutMs} ms`, 'ETIMEDOUT');
    const { signal, timer } = deadlineAfter(timeoutMs, timeUp, request.signal);
    try {
      return JSON.parse(await readAnswer(await this.#send({ ...request, signal }, this.#calls))) as T;
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends a request whose response is a stream, for a watch. The caller's signal ends it. */
  stream(request: ApiRequest): Promise<IncomingMessage> {
    return this.#send(request, this.#watches);
  }

  /** Like {@link stream}, in bytes. Throws {@link SilenceError} if none arrive for a time. */
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

  /** Gets an object. Its type is asserted, not checked, as with {@link request}: the API server validates objects. */
  getAs<T>(path: string, options: Partial<ApiRequest> = {}): Promise<T> {
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

  /** JSON Patch (RFC 6902): the API server responds with 422 if a test fails. */
  jsonPatch<T>(path: string, body: readonly PatchOperation[], options: Partial<ApiRequest> = {}): Promise<T> {
    return this.request<T>({ method: 'PATCH', path, body, contentType: JSON_PATCH, ...options });
  }

  /** Closes all idle connections. */
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
    this.#options.onServerTime?.(response.headers.date, started);
    report(status);
    if (status < 300) return response;
    throw new ApiError(status, await readAnswer(response), response.headers['retry-after']);
  }

  /** Returns the response. After a 401 or an untrusted certificate, retries once with refreshed credentials. */
  async #answered(request: ApiRequest, connections: Connections): Promise<IncomingMessage> {
    const access = await this.#credentials.get();
    const response = await this.#attempt(request, connections, access).catch(unlessUntrusted);
    if (response && response.statusCode !== 401) return response;
    response?.resume();
    return await this.#attempt(request, connections, await this.#credentials.get(access));
  }

  /** Sends a request, and retries once if it was lost because the server had just closed the connection. */
  async #attempt(
    request: ApiRequest,
    connections: Connections,
    access: CallCredentials,
    isRepeated = false,
  ): Promise<IncomingMessage> {
    const { method, path, query, body, contentType, accept, signal, veto } = request;
    // A string is sent in one piece with the headers.
    const payload = body === undefined ? undefined : jsonOf(body, contentType);
    const headers = withoutUndefined({
      ...access.headers,
      Accept: accept ?? 'application/json',
      'User-Agent': this.#options.userAgent,
      'Content-Type': payload && (contentType ?? 'application/json'),
      'Content-Length': payload && Buffer.byteLength(payload),
    });
    const isSecure = this.#address.protocol === 'https:';
    const agent = connections.agentFor(isSecure, access);
    const wholePath = `${this.#address.path?.replace(/\/$/, '')}${path}${queryString(query)}`;
    const options = { ...this.#address, path: wholePath, method, headers, agent };
    const outgoing = isSecure ? httpsRequest(options) : httpRequest(options);
    if (veto) sendWhenReady(outgoing, payload, veto);
    else outgoing.end(payload);
    try {
      return await answerTo(outgoing, signal);
    } catch (error) {
      if (isRepeated || !mayRepeat(codeOf(error), outgoing)) throw error;
      return await this.#attempt(request, connections, access, true);
    }
  }
}

/** Encodes a body. The API server compares the values of tests in the form in which it encodes them itself. */
function jsonOf(body: unknown, contentType: string | undefined): string {
  const json = JSON.stringify(body);
  if (contentType !== JSON_PATCH) return json;
  return json.replace(/[<>&\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function queryString(query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return given
    .map(([key, value], index) => `${index === 0 ? '?' : '&'}${key}=${encodeURIComponent(String(value))}`)
    .join('');
}

/** Idempotent methods (RFC 9110, section 9.2.2). */
const IDEMPOTENT = ['GET', 'PUT', 'DELETE'];

/** Returns whether a request can be resent: EPIPE means partly sent, ECONNRESET possibly handled. */
function mayRepeat(code: string, { reusedSocket, method }: ClientRequest): boolean {
  return reusedSocket && (code === 'EPIPE' || (code === 'ECONNRESET' && IDEMPOTENT.includes(method)));
}
