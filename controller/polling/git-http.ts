import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { gzipSync } from 'node:zlib';
import { retryAfterMs } from '../../shared/domain/duration.ts';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { AddressGuard } from '../../shared/io/address-guard.ts';
import { connectionErrorOf, gitErrorOf } from '../../shared/io/git/git-error.ts';
import { answerTo } from '../../shared/io/http/answer-to.ts';
import { answerTooLarge, apiAnswerTooLarge, timedOut } from './host-errors.ts';

/** The most that is read of an answer: some 400,000 refs of a host that does not filter them, none of which is kept. */
const MAX_ANSWER = { bytes: 32 * 1024 * 1024, error: () => answerTooLarge('32 MiB') };
/** The same for the API of a host: a token is a few hundred bytes. */
const MAX_JSON = { bytes: 64 * 1024, error: apiAnswerTooLarge };
const MAX_REDIRECTS = 5;
const PROXIES = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'];

export interface GitHttpOptions {
  /** Value of the `Authorization` header; sent to the origin of the first URL only. */
  authorization?: string | undefined;
  /** CA bundle (PEM) of the host. */
  ca?: string | undefined;
  signal: AbortSignal;
}

interface Limit {
  bytes: number;
  error: () => TransientError;
}

interface Content {
  payload?: Buffer;
  headers?: object;
}

export interface GitHttpAnswer {
  /** Where the answer came from, after redirects. */
  url: URL;
  contentType: string | undefined;
  /** Bytes as they arrive; throws typed errors when the answer breaks off, takes too long or is too large. */
  body: AsyncIterable<Buffer>;
}

/** HTTP to git hosts: redirects only where git follows them, bounded answers, and nothing of the host's words kept. */
export class GitHttp {
  readonly #agent: HttpAgent;
  readonly #secureAgent: HttpsAgent;
  readonly #guard: AddressGuard | undefined;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #hasProxy: boolean;

  /** `environment` names proxies; without a guard every address may be asked. */
  constructor(environment: NodeJS.ProcessEnv, guard?: AddressGuard) {
    const options = { keepAlive: true, maxSockets: 32, maxFreeSockets: 32, timeout: 60_000, proxyEnv: environment };
    this.#environment = environment;
    this.#hasProxy = PROXIES.some((name) => environment[name]);
    this.#agent = new HttpAgent(options);
    this.#secureAgent = new HttpsAgent(options);
    this.#guard = guard;
  }

  /** Follows redirects within the host, and takes credentials to no other origin. */
  async get(url: URL, options: GitHttpOptions): Promise<GitHttpAnswer> {
    let target = url;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const response = await this.#send(target, options, {});
      const location = redirectOf(response, target);
      if (!location) return answerOf(target, response, options);
      response.destroy();
      const isWithin = options.authorization ? location.origin === url.origin : location.hostname === url.hostname;
      if (!isWithin) throw redirectError();
      target = location;
    }
    throw redirectError();
  }

  /** Sends a request of git's protocol; redirects are refused, as git refuses them. */
  async post(url: URL, body: string, options: GitHttpOptions): Promise<GitHttpAnswer> {
    const payload = body.length > 1024 ? gzipSync(body) : Buffer.from(body);
    const headers = {
      'Content-Type': 'application/x-git-upload-pack-request',
      'Content-Length': payload.length,
      ...(body.length > 1024 ? { 'Content-Encoding': 'gzip' } : {}),
    };
    return answerOf(url, await this.#send(url, options, { payload, headers }), options);
  }

  /** Sends JSON to the API of a host and gives whatever it answers below 300 or from 400 on. */
  async postJson(url: URL, body: object, options: GitHttpOptions): Promise<{ status: number; body: Buffer }> {
    const payload = Buffer.from(JSON.stringify(body));
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': payload.length,
      Accept: 'application/json',
    };
    const response = await this.#connect(url, options, { payload, headers });
    const chunks: Buffer[] = [];
    for await (const chunk of bytesOf(response, MAX_JSON, options.signal)) chunks.push(chunk);
    return { status: response.statusCode ?? 0, body: Buffer.concat(chunks) };
  }

  close(): void {
    this.#agent.destroy();
    this.#secureAgent.destroy();
  }

  async #send(url: URL, options: GitHttpOptions, content: Content): Promise<IncomingMessage> {
    const response = await this.#connect(url, options, content);
    checkStatus(response);
    return response;
  }

  async #connect(url: URL, options: GitHttpOptions, { payload, headers }: Content): Promise<IncomingMessage> {
    this.#guard?.check(url.hostname);
    if (this.#hasProxy) await this.#guard?.checkProxied(url.hostname);
    const secure = url.protocol === 'https:';
    const agent = options.ca ? this.#agentWithCa(options.ca) : secure ? this.#secureAgent : this.#agent;
    const request = (secure ? httpsRequest : httpRequest)(url, {
      method: payload ? 'POST' : 'GET',
      agent,
      signal: options.signal,
      ...(this.#guard ? { lookup: this.#guard.lookup } : {}),
      headers: {
        'User-Agent': 'git/2 (stoker-operator)',
        'Git-Protocol': 'version=2',
        Accept: '*/*',
        ...headers,
        ...(options.authorization ? { Authorization: options.authorization } : {}),
      },
    });
    request.end(payload);
    return await answerTo(request, options.signal).catch((error: unknown) => {
      throw connectionError(error, options.signal);
    });
  }

  /** A private CA is rare enough for a connection of its own each time. */
  #agentWithCa(ca: string): HttpsAgent {
    return new HttpsAgent({ ca, keepAlive: false, proxyEnv: this.#environment });
  }
}

function checkStatus(response: IncomingMessage): void {
  const status = response.statusCode ?? 0;
  if (status < 400) return;
  response.destroy(); // however much it says
  if (status !== 429 && status < 500) throw gitErrorOf(`error: ${status}`);
  throw new TransientError(`the git host answered ${status}: it is tried again`, {
    code: `git.http${status}`,
    reason: status === 429 ? 'GitRateLimited' : 'GitUnreachable',
    retryAfterMs: retryAfterMs(response.headers['retry-after']),
  });
}

function redirectOf(response: IncomingMessage, from: URL): URL | undefined {
  const { location } = response.headers;
  const status = response.statusCode ?? 0;
  if (status < 300 || location === undefined) return undefined;
  const target = URL.canParse(location, from) ? new URL(location, from) : undefined;
  const downgrade = from.protocol === 'https:' && target?.protocol !== 'https:';
  if (!target || downgrade || !/^https?:$/.test(target.protocol)) throw redirectError();
  return target;
}

function answerOf(url: URL, response: IncomingMessage, { signal }: GitHttpOptions): GitHttpAnswer {
  if ((response.statusCode ?? 0) >= 300) {
    response.destroy();
    throw redirectError();
  }
  const contentType = response.headers['content-type']?.split(';')[0]?.trim();
  return { url, contentType, body: bytesOf(response, MAX_ANSWER, signal) };
}

async function* bytesOf(response: IncomingMessage, limit: Limit, signal: AbortSignal): AsyncGenerator<Buffer> {
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limit.bytes) throw limit.error();
      yield chunk;
    }
  } catch (error) {
    throw connectionError(error, signal);
  }
}

const redirectError = () =>
  new TerminalError('the git host sends this URL elsewhere: set spec.git.repo to the address that it redirects to', {
    code: 'git.redirect',
    reason: 'UnexpectedRedirect',
  });

function connectionError(error: unknown, signal: AbortSignal): Error {
  if (error instanceof TerminalError || error instanceof TransientError) return error;
  if (signal.aborted && signal.reason instanceof Error && signal.reason.name === 'TimeoutError') {
    return timedOut();
  }
  return connectionErrorOf(error);
}
