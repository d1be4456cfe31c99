import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from 'node:https';
import type { TcpNetConnectOpts } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { CodedError, isTyped, TransientError } from '../../errors.ts';
import type { AddressGuard } from '../address-guard.ts';
import { CONNECT_MS } from '../connectable-first.ts';
import { connectionErrorOf } from '../git/git-error.ts';
import { decisiveError } from '../git/unreachable.ts';
import { answerTo } from './answer-to.ts';
import { stalled } from './bytes-of.ts';
import { exceptionsOf, isExcepted, proxiesOf } from './no-proxy.ts';
import { sendWhenReady, type Veto } from './send-when-ready.ts';
import { TrustedCas } from './trusted-cas.ts';

export interface GuardedHttpOptions {
  guard: AddressGuard;
  /** Names proxies. */
  environment: NodeJS.ProcessEnv;
  /** Maximum number of connections per host. */
  maxSockets?: number;
}

export interface GuardedRequest {
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string | Buffer | undefined;
  /** The only CA bundle (PEM) to trust. */
  ca?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Time without data that ends the request (ms). If omitted, 30 s. */
  stallMs?: number;
  /** Called right before the request is sent; an error ends it. */
  veto?: Veto | undefined;
}

/** Maximum number of redirects. */
const MAX_REDIRECTS = 5;
/** Time without data that ends a connection (ms). */
const SILENCE_MS = 30_000;
/** Maximum number of idle connections over all hosts: one with TLS uses up to 90 KB. */
const MAX_IDLE = 32;
/** Time after which an idle connection is closed (ms). */
const IDLE_MS = 60_000;
/** Time until a response begins (ms), even if its headers trickle. */
const HEAD_MS = 60_000;

interface Connecting
  extends RequestOptions,
    Pick<TcpNetConnectOpts, 'autoSelectFamily' | 'autoSelectFamilyAttemptTimeout'>,
    Pick<ConnectionOptions, 'secureContext'> {
  /** Receives the connection that is opened for a request, to the host or a proxy. */
  onConnection?: (socket: Duplex) => void;
}

/** Until TLS has begun behind a proxy, Node ends a request without its connection, which would leak. */
class NotifyingAgent extends HttpsAgent {
  override createConnection(
    options: Connecting,
    callback?: (error: Error | null, socket: Duplex) => void,
  ): Duplex | null | undefined {
    const socket = super.createConnection(options, callback);
    if (socket) options.onConnection?.(socket);
    return socket;
  }
}

interface Agents {
  plain: HttpAgent;
  secure: HttpsAgent;
}

function agents(maxSockets: number, proxyEnv: NodeJS.ProcessEnv = {}): Agents {
  const options = {
    keepAlive: true,
    maxSockets,
    maxFreeSockets: 4,
    timeout: IDLE_MS,
    maxCachedSessions: MAX_IDLE,
    proxyEnv,
  };
  return { plain: boundIdle(new HttpAgent(options)), secure: boundIdle(new NotifyingAgent(options)) };
}

/** HTTP to untrusted hosts: denied addresses are blocked, and redirects are followed only on request. */
export class GuardedHttp {
  readonly guard: AddressGuard;
  readonly #options: GuardedHttpOptions;
  readonly #proxies: ReturnType<typeof proxiesOf>;
  readonly #exceptions: string;
  readonly #direct: Agents;
  readonly #proxied: Agents;
  readonly #cas = new TrustedCas();

  constructor(options: GuardedHttpOptions) {
    const { guard, environment, maxSockets = 8 } = options;
    this.guard = guard;
    this.#options = options;
    this.#proxies = proxiesOf(environment);
    this.#exceptions = exceptionsOf(environment);
    this.#direct = agents(maxSockets);
    // Exceptions are evaluated here, even for git, because Node and curl have other rules.
    this.#proxied = agents(maxSockets, this.#proxies);
  }

  /** Returns one with another guard, which must be closed. */
  guardedBy(guard: AddressGuard): GuardedHttp {
    return new GuardedHttp({ ...this.#options, guard });
  }

  /** Whether any host is reached through a proxy. */
  get hasProxy(): boolean {
    return Object.values(this.#proxies).some((proxy) => proxy !== '');
  }

  /** Whether a proxy connects to the host for us. */
  hasProxyFor(url: URL): boolean {
    const { https_proxy, http_proxy } = this.#proxies;
    const proxy = url.protocol === 'https:' ? https_proxy : http_proxy;
    return proxy !== '' && !isExcepted(url, this.#exceptions);
  }

  /** Sends one request and returns its response, even a redirect. The caller must read or destroy the body. */
  async send(url: URL, request: GuardedRequest): Promise<IncomingMessage> {
    this.guard.check(url.hostname);
    const isProxied = this.hasProxyFor(url);
    if (isProxied) await this.guard.checkProxied(url.hostname);
    const { plain, secure } = isProxied ? this.#proxied : this.#direct;
    const { method = 'GET', headers = {}, body, ca, signal, stallMs = SILENCE_MS, veto } = request;
    const isSecure = url.protocol === 'https:';
    let connection: Duplex | undefined;
    const options: Connecting = {
      method,
      headers,
      agent: isSecure ? secure : plain,
      ca, // Node separates connections by it
      secureContext: isSecure ? this.#cas.contextOf(ca) : undefined,
      lookup: this.guard.lookup,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: CONNECT_MS,
      timeout: stallMs,
      onConnection: (socket) => {
        connection = socket;
      },
    };
    const sent = (isSecure ? httpsRequest : httpRequest)(url, options);
    sent.once('timeout', () => sent.destroy(stalled()));
    if (veto) sendWhenReady(sent, body, veto);
    else sent.end(body);
    const timer = setTimeout(() => sent.destroy(stalled()), Math.max(HEAD_MS, stallMs));
    return await answerTo(sent, signal)
      .catch((error: unknown) => {
        connection?.destroy();
        if (signal?.aborted && !isTyped(error)) throw signal.reason;
        throw connectionErrorOf(isProxied ? ofProxy(error) : error);
      })
      .finally(() => clearTimeout(timer));
  }

  /** Sends a request and follows redirects. `next` returns the request for a new URL, or throws. */
  async follow(
    start: URL,
    next: (url: URL) => GuardedRequest | Promise<GuardedRequest>,
  ): Promise<{ url: URL; response: IncomingMessage }> {
    let url = start;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const response = await this.send(url, await next(url));
      const { statusCode = 0, headers } = response;
      if (statusCode < 300 || statusCode >= 400 || headers.location === undefined) return { url, response };
      response.destroy();
      if (!URL.canParse(headers.location, url)) break;
      url = new URL(headers.location, url);
      if (!/^https?:$/.test(url.protocol)) break;
    }
    throw new TransientError('the git server redirects requests in a loop', {
      code: 'git.redirectLoop',
      reason: 'UnexpectedRedirect',
    });
  }

  close(): void {
    for (const { plain, secure } of [this.#direct, this.#proxied]) {
      plain.destroy();
      secure.destroy();
    }
  }
}

/** Node's limit is per host, and a server can fabricate hosts. Closes the connection that has been idle longest. */
function boundIdle<T extends HttpAgent>(agent: T): T {
  return agent.on('free', () => {
    const idle = Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? []);
    if (idle.length > MAX_IDLE) idle[0]?.destroy();
  });
}

/** Behind a proxy, only the proxy is resolved and connected to. Node has a code for proxy errors. */
function ofProxy(error: unknown): unknown {
  const { syscall = '' } = decisiveError(error) as NodeJS.ErrnoException;
  if (!/^(?:getaddrinfo|connect)$/.test(syscall)) return error;
  return new CodedError('no connection to the proxy', 'ERR_PROXY_TUNNEL', { cause: error });
}
