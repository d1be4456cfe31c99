import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { isTyped, TerminalError, TransientError } from '../../shared/errors.ts';
import type { AddressGuard } from '../../shared/io/address-guard.ts';
import { explainExpiredCas } from '../../shared/io/git/expired-cas.ts';
import { connectionErrorOf, gitErrorOf } from '../../shared/io/git/git-error.ts';
import { type Credentials, explainRedirectLoop, redirectError } from '../../shared/io/git/refusals.ts';
import { type AnswerLimit, bytesOf } from '../../shared/io/http/bytes-of.ts';
import { GuardedHttp, type GuardedRequest } from '../../shared/io/http/guarded-http.ts';
import { answerTooLarge, apiAnswerTooLarge, timedOut } from './host-errors.ts';
import { Pauses } from './pauses.ts';

/** Time without data that ends a request (ms): its signal ends it earlier. */
const STALL_MS = 300_000;
/** Maximum size of a response: about 400,000 refs of a server that doesn't filter them. They aren't kept. */
const MAX_ANSWER = { bytes: 32 * 1024 * 1024, error: () => answerTooLarge('32 MiB') };
/** The same for the API of a server, where a token has a few hundred bytes. */
const MAX_JSON = { bytes: 64 * 1024, error: apiAnswerTooLarge };
/** Maximum size of a CA bundle, because parsing it blocks the process. */
const MAX_CA_BYTES = 64 * 1024;
/** Maximum connections to one host. The limiter decides how many queries run at a time. */
const MAX_SOCKETS = 32;

export interface GitHttpOptions {
  /** Value of the `Authorization` header; sent to the origin of the first URL only. */
  authorization?: string | undefined;
  /** User in this header, for messages. */
  user?: string | undefined;
  /** Identifies the account that the server counts requests for, if the value of the header changes. */
  account?: string | undefined;
  /** CA bundle (PEM) of the host. */
  ca?: string | undefined;
  signal: AbortSignal;
  /** Waits until the host can get another request. */
  turn?: Turn | undefined;
  /** Called right before the request is sent; an error ends it. */
  veto?: GuardedRequest['veto'];
}

/** Waits for the turn of a request; called before each of them. */
export type Turn = () => Promise<void>;

/** A response of a host's API. */
export interface JsonAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  /** At most 64 KiB. */
  body: Buffer;
}

interface Content {
  payload?: Buffer;
  headers?: Record<string, string>;
}

export interface GitHttpAnswer {
  /** The URL that responded, after redirects. */
  url: URL;
  contentType: string | undefined;
  /** Bytes as they arrive; throws typed errors if the response is cut off, takes too long or is too large. */
  body: AsyncIterable<Buffer>;
}

/**
 * HTTP to git servers: follows the redirects that git follows, limits responses, keeps no messages of the host, and sends
 * nothing while a host has requested a pause.
 */
export class GitHttp {
  readonly #http: GuardedHttp;
  readonly #pauses = new Pauses();

  /** `environment` has the variables that name proxies. */
  constructor(environment: NodeJS.ProcessEnv, guard: AddressGuard) {
    this.#http = new GuardedHttp({ guard, environment, maxSockets: MAX_SOCKETS });
  }

  /** Whether any host is reached through a proxy. */
  get hasProxy(): boolean {
    return this.#http.hasProxy;
  }

  /** Follows redirects within the host, and takes credentials to no other origin. */
  async get(url: URL, options: GitHttpOptions): Promise<GitHttpAnswer> {
    let from = url;
    const credentials = credentialsOf(options);
    const next = async (to: URL) => {
      const isWithin = options.authorization ? to.origin === url.origin : to.hostname === url.hostname;
      if (!isWithin || (from.protocol === 'https:' && to.protocol !== 'https:')) throw redirectError(credentials, to);
      from = to;
      await this.#admit(to, options);
      return requestOf(options, {});
    };
    const { url: target, response } = await this.#http.follow(url, next).catch((error: unknown) => {
      throw failure(explainRedirectLoop(error, credentials), options);
    });
    return this.#answerOf(target, response, options);
  }

  /** Sends a request of git's protocol; redirects are refused, as git refuses them. */
  async post(url: URL, body: string, options: GitHttpOptions): Promise<GitHttpAnswer> {
    const headers = { 'Content-Type': 'application/x-git-upload-pack-request' };
    const response = await this.#send(url, options, { payload: Buffer.from(body), headers });
    return this.#answerOf(url, response, options);
  }

  /** Sends JSON to the API of a host, and returns every response, including redirects. */
  async postJson(url: URL, body: object, options: GitHttpOptions): Promise<JsonAnswer> {
    const payload = Buffer.from(JSON.stringify(body));
    const headers = { 'Content-Type': 'application/json', Accept: 'application/json' };
    const response = await this.#send(url, options, { payload, headers });
    const chunks: Buffer[] = [];
    const { headers: sent, statusCode: status = 0 } = response;
    this.#pauses.begin(url, accountOf(options), { status, headers: sent });
    for await (const chunk of typedBytesOf(response, MAX_JSON, options.signal)) chunks.push(chunk);
    return { status, headers: sent, body: Buffer.concat(chunks) };
  }

  close(): void {
    this.#http.close();
  }

  async #send(url: URL, options: GitHttpOptions, content: Content): Promise<IncomingMessage> {
    await this.#admit(url, options);
    const request = requestOf(options, content);
    return await this.#http.send(url, request).catch((error: unknown) => {
      throw failure(error, options);
    });
  }

  /** Waits for the turn of a request. Throws if the host has requested a pause. */
  async #admit(url: URL, options: GitHttpOptions): Promise<void> {
    this.#pauses.check(url, accountOf(options));
    await options.turn?.();
  }

  #answerOf(url: URL, response: IncomingMessage, options: GitHttpOptions): GitHttpAnswer {
    const { headers, statusCode: status = 0 } = response;
    if (status < 300) {
      const contentType = headers['content-type']?.split(';')[0]?.trim();
      return { url, contentType, body: typedBytesOf(response, MAX_ANSWER, options.signal) };
    }
    response.destroy(); // the body isn't read
    if (status < 400) throw redirectError(credentialsOf(options));
    const pause = this.#pauses.begin(url, accountOf(options), { status, headers });
    if (pause) throw pause;
    if (status < 500) throw gitErrorOf(`error: ${status}`, { credentials: credentialsOf(options), user: options.user });
    const message = `the git server returned ${status}; retrying`;
    throw new TransientError(message, { code: `git.http${status}`, reason: 'GitUnreachable' });
  }
}

const accountOf = ({ account, authorization }: GitHttpOptions): string | undefined => account ?? authorization;

function requestOf({ authorization, ca, signal, veto }: GitHttpOptions, { payload, headers }: Content): GuardedRequest {
  if (ca && Buffer.byteLength(ca) > MAX_CA_BYTES) throw caTooLarge();
  return {
    method: payload ? 'POST' : 'GET',
    headers: withoutUndefined({
      'User-Agent': 'git/2 (stoker-operator)',
      'Git-Protocol': 'version=2',
      Accept: '*/*',
      Authorization: authorization,
      ...headers,
    }),
    body: payload,
    ca,
    signal,
    stallMs: STALL_MS,
    veto,
  };
}

/** The kind of credentials that a git server receives. */
export const credentialsOf = ({ authorization }: Pick<GitHttpOptions, 'authorization'>): Credentials =>
  authorization ? 'token' : 'none';

async function* typedBytesOf(
  response: IncomingMessage,
  limit: AnswerLimit,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  try {
    yield* bytesOf(response, limit);
  } catch (error) {
    throw typed(error, signal);
  }
}

const caTooLarge = () =>
  new TerminalError(
    'the Secret named in spec.git.caSecretRef contains more than 64 KiB; store only the CA that signed the certificate of the git server',
    { code: 'git.caTooLarge', reason: 'SecretTooLarge' },
  );

const CA_SOURCE = 'the Secret named in spec.git.caSecretRef';

/** The error of a request without a response. */
function failure(error: unknown, { ca, signal }: GitHttpOptions): Error {
  const known = typed(error, signal);
  return ca ? explainExpiredCas(known, { pem: ca, source: CA_SOURCE, isOnly: true }) : known;
}

function typed(error: unknown, { aborted, reason }: AbortSignal): Error {
  return !isTyped(error) && aborted && reason instanceof Error && reason.name === 'TimeoutError'
    ? timedOut()
    : connectionErrorOf(error);
}
