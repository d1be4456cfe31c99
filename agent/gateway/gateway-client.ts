import type { LookupAddress } from 'node:dns';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { formatDuration } from '../../shared/domain/text/duration.ts';
import { causeOf } from '../../shared/domain/text/message-of.ts';
import { codeOf, TransientError, WaitingError } from '../../shared/errors.ts';
import { answerTo } from '../../shared/io/http/answer-to.ts';
import { readSecretFile } from './read-secrets.ts';

export interface GatewayRequest {
  method: 'GET' | 'POST' | 'PUT';
  /** Path and query. */
  path: string;
  headers?: Record<string, string>;
  body?: string | undefined;
  /** Header that carries the gateway's API key, for gateways that require one. */
  apiKeyHeader?: string | undefined;
  /** Status that means success. If omitted, any 2xx. */
  expectStatus?: number | undefined;
  /** Time for the whole exchange, in milliseconds. */
  timeoutMs?: number;
  /** Aborts the exchange with its reason. */
  signal?: AbortSignal | undefined;
  /** Limit of the body that is read (bytes), which is exceeded by one chunk at most. If 0, the connection is closed instead. */
  maxBodyBytes?: number;
}

/** Limits of a call. */
export type CallLimits = Pick<GatewayRequest, 'timeoutMs' | 'signal'>;

export interface GatewayAddress {
  port: number;
  tls: boolean;
  /** File with the API key, read for each request because Secrets rotate. */
  apiKeyFile: string | undefined;
}

const TIMEOUT_MS = 10_000;
const MAX_BODY_BYTES = 1024 * 1024;
/** Loopback addresses of the pod, in the order of attempts: a gateway might listen on IPv6 only. */
const LOOPBACK: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];
const lookup: LookupFunction = (_host, _options, callback) => callback(null, LOOPBACK);
/** Network errors of a gateway that hasn't started yet, or restarts. */
const away = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Calls the gateway in the same pod. Redirects aren't followed: they could lead a key anywhere. */
export class GatewayClient {
  readonly #address: GatewayAddress;
  #hasAnswered = false;

  constructor(address: GatewayAddress) {
    this.#address = address;
  }

  /** Whether the gateway has responded since the agent started. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /**
   * Sends a request and reads the response. Throws {@link WaitingError} if the port is closed (code `gateway.down`) or
   * silent (`gateway.silent`), and {@link TransientError} if the response isn't the expected one.
   */
  async send(request: GatewayRequest): Promise<{ status: number; body: string }> {
    const { method, path, apiKeyHeader, expectStatus } = request;
    const key = apiKeyHeader ? { [apiKeyHeader]: await this.#readApiKey() } : {};
    const answer = await this.#exchange(request, { ...request.headers, ...key });
    const isExpected =
      expectStatus === undefined ? answer.status >= 200 && answer.status < 300 : answer.status === expectStatus;
    if (isExpected) return answer;
    throw new TransientError(`the gateway responded with ${answer.status} to ${method} ${path}${hint(answer.status)}`, {
      code: 'gateway.refused',
      reason: 'GatewayRefused',
    });
  }

  async #readApiKey(): Promise<string> {
    const { apiKeyFile } = this.#address;
    if (apiKeyFile) return await readSecretFile(apiKeyFile, 'the API key of the gateway');
    throw new TransientError(
      'the gateway requires an API key: specify its Secret in spec.gateway.api, and recreate the pod',
      {
        code: 'gateway.credentials',
        reason: 'CredentialsMissing',
      },
    );
  }

  async #exchange(request: GatewayRequest, headers: Record<string, string>) {
    const { method, path, body: sent, timeoutMs = TIMEOUT_MS, maxBodyBytes = MAX_BODY_BYTES } = request;
    const { port, tls } = this.#address;
    const open = tls ? httpsRequest : httpRequest;
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = request.signal ? AbortSignal.any([timeout, request.signal]) : timeout;
    const options = {
      host: 'localhost',
      port,
      lookup,
      autoSelectFamily: true,
      // Only a refused connection leads to the second address: a gateway that accepts one and is silent is running.
      autoSelectFamilyAttemptTimeout: timeoutMs + 1_000,
      method,
      path,
      headers: { Host: `127.0.0.1:${port}`, Accept: 'application/json', ...headers },
      signal,
      agent: false,
      // The certificate is for the gateway's public name; there is no network in between.
      rejectUnauthorized: false,
    };
    try {
      const response = await answerTo(open(options).end(sent), signal);
      this.#hasAnswered = true;
      const body = await readBody(response, maxBodyBytes);
      timeout.throwIfAborted(); // a body that only ends with the connection would count as complete
      return { status: response.statusCode ?? 0, body };
    } catch (error) {
      request.signal?.throwIfAborted();
      throw explain((timeout.aborted ? timeout.reason : error) as NodeJS.ErrnoException, {
        port,
        method,
        path,
        timeoutMs,
      });
    }
  }
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<string> {
  if (maxBytes === 0) {
    response.destroy();
    return '';
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    chunks.push(chunk as Buffer);
    size += (chunk as Buffer).length;
    if (size > maxBytes) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

interface Call {
  port: number;
  method: string;
  path: string;
  timeoutMs: number;
}

function explain(cause: NodeJS.ErrnoException, { port, method, path, timeoutMs }: Call): Error {
  if (cause.name === 'TimeoutError' || cause.name === 'AbortError') {
    const message = `the gateway did not respond to ${method} ${path} within ${formatDuration(timeoutMs)}`;
    return gatewayAway(message, { code: 'gateway.silent', cause });
  }
  const error = decisive(cause);
  const code = codeOf(error);
  if (away.has(code)) {
    const message = `the gateway does not respond on port ${port}, which was spec.gateway.port when the pod was created (${code})`;
    return gatewayAway(message, { code: code === 'ECONNREFUSED' ? 'gateway.down' : 'gateway.silent', cause });
  }
  return new TransientError(`cannot connect to the gateway on port ${port}: ${causeOf(error)}`, {
    code: 'gateway.call',
    reason: 'GatewayRefused',
    cause,
  });
}

export type AwayCode =
  | 'gateway.down'
  | 'gateway.silent'
  | 'gateway.notReady'
  | 'gateway.noProcess'
  | 'gateway.hidden'
  | 'gateway.ended'
  | 'gateway.starting';

/** An error for a gateway that is expected to respond soon. */
export const gatewayAway = (message: string, details: { code: AwayCode; cause: unknown }): WaitingError =>
  new WaitingError(message, { ...details, reason: 'GatewayAway', retryAfterMs: 1_000 });

/** Returns the error of one address if all of them failed, preferably a refused connection. */
function decisive(error: unknown): unknown {
  if (!(error instanceof AggregateError)) return error;
  return error.errors.find((each) => codeOf(each) === 'ECONNREFUSED') ?? error.errors[0];
}

function hint(status: number): string {
  if (status === 401 || status === 403) return ': check the Secrets specified in spec.gateway';
  if (status >= 300 && status < 400) return ': redirects are not followed, specify the final path';
  return '';
}
