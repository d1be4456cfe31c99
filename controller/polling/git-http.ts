import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { gzipSync } from 'node:zlib';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import { gitErrorOf } from '../../shared/io/git/git-error.ts';

/** Answers larger than this are given up: refs are filtered by the host, so they are small. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const MAX_REDIRECTS = 5;

export interface GitHttpOptions {
  /** Value of the `Authorization` header; sent to the origin of the first URL only. */
  authorization?: string | undefined;
  /** CA bundle (PEM) of the host. */
  ca?: string | undefined;
  signal: AbortSignal;
}

/** Keeps connections away from addresses; both throw {@link TerminalError}, or give it to their callback. */
export interface AddressGuard {
  /** For the names of hosts, at the moment of connecting. */
  lookup: LookupFunction;
  /** For the host of a URL, since an address is never looked up. */
  check: (host: string) => void;
}

interface Content {
  payload?: Buffer;
  headers?: object;
}

export interface GitHttpAnswer {
  /** Where the answer came from, after redirects. */
  url: URL;
  body: Buffer;
}

/** HTTP to git hosts: redirects only where git follows them, bounded answers, and nothing of the host's words kept. */
export class GitHttp {
  readonly #agent: HttpAgent;
  readonly #secureAgent: HttpsAgent;
  readonly #guard: AddressGuard | undefined;
  readonly #environment: NodeJS.ProcessEnv;

  /** `environment` names proxies; without a guard every address may be asked. */
  constructor(environment: NodeJS.ProcessEnv, guard?: AddressGuard) {
    const options = { keepAlive: true, maxSockets: 32, maxFreeSockets: 32, timeout: 60_000, proxyEnv: environment };
    this.#environment = environment;
    this.#agent = new HttpAgent(options);
    this.#secureAgent = new HttpsAgent(options);
    this.#guard = guard;
  }

  /** Follows redirects, but takes credentials to no other origin. */
  async get(url: URL, options: GitHttpOptions): Promise<GitHttpAnswer> {
    let target = url;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const response = await this.#send(target, options, {});
      const location = redirectOf(response, target);
      if (!location) return { url: target, body: await readBody(response) };
      response.resume();
      if (location.origin !== url.origin && options.authorization) throw redirectError();
      target = location;
    }
    throw redirectError();
  }

  /** Sends a request of git's protocol; redirects are refused, as git refuses them. */
  async post(url: URL, body: string, options: GitHttpOptions): Promise<GitHttpAnswer> {
    return { url, body: await readBody(await this.#post(url, body, options)) };
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
    return { status: response.statusCode ?? 0, body: await readBytes(response) };
  }

  /** The first bytes of an answer whose rest is of no use: a pack, for one. */
  async postForStart(url: URL, body: string, options: GitHttpOptions): Promise<Buffer> {
    const response = await this.#post(url, body, options);
    for await (const chunk of response) {
      response.destroy();
      return chunk as Buffer;
    }
    return Buffer.alloc(0);
  }

  close(): void {
    this.#agent.destroy();
    this.#secureAgent.destroy();
  }

  #post(url: URL, body: string, options: GitHttpOptions): Promise<IncomingMessage> {
    const payload = body.length > 1024 ? gzipSync(body) : Buffer.from(body);
    return this.#send(url, options, {
      payload,
      headers: {
        'Content-Type': 'application/x-git-upload-pack-request',
        'Content-Length': payload.length,
        ...(body.length > 1024 ? { 'Content-Encoding': 'gzip' } : {}),
      },
    });
  }

  async #send(url: URL, options: GitHttpOptions, content: Content): Promise<IncomingMessage> {
    const response = await this.#connect(url, options, content);
    checkStatus(response);
    return response;
  }

  async #connect(url: URL, options: GitHttpOptions, { payload, headers }: Content): Promise<IncomingMessage> {
    this.#guard?.check(url.hostname);
    const secure = url.protocol === 'https:';
    const agent = options.ca ? this.#agentWithCa(options.ca) : secure ? this.#secureAgent : this.#agent;
    return new Promise<IncomingMessage>((resolve, reject) => {
      const request: ClientRequest = (secure ? httpsRequest : httpRequest)(
        url,
        {
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
        },
        resolve,
      );
      request.once('error', reject);
      request.end(payload);
    }).catch((error: unknown) => {
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
  response.resume();
  if (status !== 429 && status < 500) throw gitErrorOf(`error: ${status}`);
  const seconds = Number(response.headers['retry-after']);
  throw new TransientError(`the git host answered ${status}: it is tried again`, {
    code: `git.http${status}`,
    reason: status === 429 ? 'GitRateLimited' : 'GitUnreachable',
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : undefined,
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

async function readBody(response: IncomingMessage): Promise<Buffer> {
  if ((response.statusCode ?? 0) >= 300) throw redirectError();
  return readBytes(response);
}

async function readBytes(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw gitErrorOf('', new Error('the answer is too large'));
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const redirectError = () =>
  new TerminalError('the git host sends this URL elsewhere: set spec.git.repo to the address that it redirects to', {
    code: 'git.redirect',
    reason: 'UnexpectedRedirect',
  });

function connectionError(error: unknown, signal: AbortSignal): Error {
  if (error instanceof TerminalError || error instanceof TransientError) return error;
  if (signal.aborted && signal.reason instanceof Error && signal.reason.name === 'TimeoutError') {
    return new TransientError('the git host did not answer in time: it is tried again', {
      code: 'git.timeout',
      reason: 'GitTimeout',
    });
  }
  const code = String((error as NodeJS.ErrnoException).code ?? '');
  return gitErrorOf(/CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO/.test(code) ? 'certificate' : '', error);
}
