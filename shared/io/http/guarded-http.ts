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
import { type Refusal, sendWhenReady } from './send-when-ready.ts';
import { TrustedCas } from './trusted-cas.ts';

export interface GuardedHttpOptions {
  guard: AddressGuard;
  /** Names proxies. */
  environment: NodeJS.ProcessEnv;
  /** Connections to one host at most. */
  maxSockets?: number;
}

export interface GuardedRequest {
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string | Buffer | undefined;
  /** CA bundle (PEM) to trust and nothing else. */
  ca?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Time without data that ends the request (ms). If omitted, 30 s. */
  stallMs?: number;
  /** Asked right before the request is sent; an error ends it. */
  refusal?: Refusal | undefined;
}

/** How often a request is sent on at most. */
const MAX_REDIRECTS = 5;
/** Silence that ends a connection, in milliseconds. */
const SILENCE_MS = 30_000;
/** Connections that may be kept over all hosts while nobody uses them: one with TLS takes up to 90 KB. */
const MAX_IDLE = 32;
/** A connection that nobody has used for so long is closed, in milliseconds. */
const IDLE_MS = 60_000;
/** Time until an answer begins, in milliseconds, however lively its headers trickle. */
const HEAD_MS = 60_000;

interface Connecting
  extends RequestOptions,
    Pick<TcpNetConnectOpts, 'autoSelectFamily' | 'autoSelectFamilyAttemptTimeout'>,
    Pick<ConnectionOptions, 'secureContext'> {
  /** Gets the connection that is opened for a request: to the host, or to a proxy. */
  onConnection?: (socket: Duplex) => void;
}

/** Until TLS has begun behind a proxy, Node lets a request end without its connection, which then stays for ever. */
class TellingAgent extends HttpsAgent {
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
  return { plain: boundIdle(new HttpAgent(options)), secure: boundIdle(new TellingAgent(options)) };
}

/** HTTP to hosts that nobody vouches for: no denied address, and redirects only where the caller says so. */
export class GuardedHttp {
  readonly guard: AddressGuard;
  readonly #proxies: ReturnType<typeof proxiesOf>;
  readonly #exceptions: string;
  readonly #direct: Agents;
  readonly #proxied: Agents;
  readonly #cas = new TrustedCas();

  constructor({ guard, environment, maxSockets = 8 }: GuardedHttpOptions) {
    this.guard = guard;
    this.#proxies = proxiesOf(environment);
    this.#exceptions = exceptionsOf(environment);
    this.#direct = agents(maxSockets);
    // Exceptions are found here, for git as well: Node and curl have other rules.
    this.#proxied = agents(maxSockets, this.#proxies);
  }

  /** Whether any host is reached by a proxy. */
  get hasProxy(): boolean {
    return Object.values(this.#proxies).some((proxy) => proxy !== '');
  }

  /** Whether a proxy connects to the host in our place. */
  hasProxyFor(url: URL): boolean {
    const { https_proxy, http_proxy } = this.#proxies;
    const proxy = url.protocol === 'https:' ? https_proxy : http_proxy;
    return proxy !== '' && !isExcepted(url, this.#exceptions);
  }

  /** Sends one request and gives its answer, a redirect too; its body has to be read or destroyed. */
  async send(url: URL, request: GuardedRequest): Promise<IncomingMessage> {
    this.guard.check(url.hostname);
    const isProxied = this.hasProxyFor(url);
    if (isProxied) await this.guard.checkProxied(url.hostname);
    const { plain, secure } = isProxied ? this.#proxied : this.#direct;
    const { method = 'GET', headers = {}, body, ca, signal, stallMs = SILENCE_MS, refusal } = request;
    const isSecure = url.protocol === 'https:';
    let connection: Duplex | undefined;
    const options: Connecting = {
      method,
      headers,
      agent: isSecure ? secure : plain,
      ca, // by which Node keeps connections apart
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
    if (refusal) sendWhenReady(sent, body, refusal);
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

  /**
   * Sends a request, and again to where its answer leads. `next` says what to send there, which may differ with the
   * place, or throws.
   */
  async follow(start: URL, next: (url: URL) => GuardedRequest): Promise<{ url: URL; response: IncomingMessage }> {
    let url = start;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const response = await this.send(url, next(url));
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

/** Node bounds them for each host alone, and hosts can be made up. The host that has waited for longest has to go. */
function boundIdle<T extends HttpAgent>(agent: T): T {
  return agent.on('free', () => {
    const idle = Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? []);
    if (idle.length > MAX_IDLE) idle[0]?.destroy();
  });
}

/** Behind a proxy nothing but the proxy is looked up and connected to; Node has a code for what the proxy answers. */
function ofProxy(error: unknown): unknown {
  const { syscall = '' } = decisiveError(error) as NodeJS.ErrnoException;
  if (!/^(?:getaddrinfo|connect)$/.test(syscall)) return error;
  return new CodedError('no connection to the proxy', 'ERR_PROXY_TUNNEL', { cause: error });
}
