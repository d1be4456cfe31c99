import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Result of the check of a request. */
export type Verdict =
  | { kind: 'welcome' }
  /** It has a token: set the cookie, and redirect to the page. */
  | { kind: 'enter' }
  | { kind: 'refused'; status: 400 | 401 | 403 | 404 | 405 | 421; says: string };

/** Checked parts of a request. */
export interface Knock {
  method: string;
  url: URL;
  headers: IncomingHttpHeaders;
}

/** Header of requests by the page that make changes. */
const TOKEN_HEADER = 'x-stoker-token';

const HINT = 'paste the address that kubectl stoker ui printed into the address bar';
const secret = (bytes: number) => randomBytes(bytes).toString('base64url');

/** Authenticates clients by the printed address, and rejects requests from other sites. */
export class Door {
  /**
   * Path of the page. It is random, so browsers don't send the cookie to other servers on this machine: cookies ignore
   * ports.
   */
  readonly base = `/${secret(9)}/`;
  /** Token that the page sends with every change. */
  pageToken = secret(32);
  #cookie = secret(32);
  readonly #token = secret(32);
  /** One-time token, because other users can see the command line that opens the browser. */
  #ticket: string | undefined;
  /** The used token. */
  #spent: string | undefined;
  #session = new AbortController();
  readonly #host: string;

  /** Requests are accepted only for `host`, such as `127.0.0.1:8080`. */
  constructor(host: string) {
    this.#host = host;
  }

  /** Aborted when all sessions end. */
  get session(): AbortSignal {
    return this.#session.signal;
  }

  get origin(): string {
    return `http://${this.#host}`;
  }

  /** The address to print. */
  get address(): string {
    return `${this.origin}/?token=${this.#token}`;
  }

  /** Creates a one-time address, and invalidates earlier ones. */
  makeTicket(): string {
    this.#ticket = secret(32);
    return `${this.origin}/?token=${this.#ticket}`;
  }

  /** Value of `Set-Cookie` after authentication. */
  get cookie(): string {
    return `stoker-ui=${this.#cookie}; Path=${this.base}; HttpOnly; SameSite=Strict`;
  }

  judge({ method, url, headers }: Knock): Verdict {
    // A name that an attacker controls may resolve to this address (DNS rebinding).
    if (headers.host !== this.#host) return refuse(421, `the address must be ${this.origin}`);
    const { 'sec-fetch-site': site } = headers;
    if (url.pathname === '/') return this.#enter(method, url);
    if (!url.pathname.startsWith(this.base)) return refuse(404, `not found: ${HINT}`);
    if (!isSame(cookieOf(headers), this.#cookie)) return refuse(401, `not logged in: ${HINT}`);
    if (site !== undefined && site !== 'same-origin' && site !== 'none')
      return refuse(403, 'requests from other sites are not allowed');
    if (method === 'GET' || method === 'HEAD') return { kind: 'welcome' };
    if (method !== 'POST') return refuse(405, 'GET or POST');
    if (headers.origin !== this.origin) return refuse(403, 'requests from other sites are not allowed');
    if (!isSame(String(headers[TOKEN_HEADER] ?? ''), this.pageToken))
      return refuse(403, 'the page is older than this kubectl stoker ui: reload it');
    if (headers['content-type'] !== 'application/json') return refuse(400, 'not JSON');
    return { kind: 'welcome' };
  }

  #enter(method: string, { searchParams }: URL): Verdict {
    if (method !== 'GET') return refuse(405, 'GET');
    const token = searchParams.get('token') ?? '';
    if (isSame(token, this.#token)) return { kind: 'enter' };
    if (this.#spent !== undefined && isSame(token, this.#spent)) this.#showOut();
    if (this.#ticket === undefined || !isSame(token, this.#ticket))
      return refuse(401, `the token in the address is missing, expired, or already used: ${HINT}`);
    [this.#ticket, this.#spent] = [undefined, this.#ticket];
    return { kind: 'enter' };
  }

  /**
   * Ends all sessions if a ticket is used twice, because the first client may be an attacker. Only once, because
   * otherwise it could be used to lock users out.
   */
  #showOut(): void {
    this.#spent = undefined;
    this.#cookie = secret(32);
    this.pageToken = secret(32);
    this.#session.abort();
    this.#session = new AbortController();
  }
}

const refuse = (status: (Verdict & { kind: 'refused' })['status'], says: string): Verdict => ({
  kind: 'refused',
  status,
  says,
});

function cookieOf({ cookie = '' }: IncomingHttpHeaders): string {
  const [, value = ''] = /(?:^|; )stoker-ui=([^;]*)/.exec(cookie) ?? [];
  return value;
}

function isSame(given: string, expected: string): boolean {
  const a = Buffer.from(given);
  const b = Buffer.from(expected);
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Headers of all responses: no external content, no caching, no framing, and no cross-origin reads. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};
