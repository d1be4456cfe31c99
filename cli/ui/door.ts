import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** What a request comes to before it is answered. */
export type Verdict =
  | { kind: 'welcome' }
  /** It has a token: it gets the cookie, and is sent to the page. */
  | { kind: 'enter' }
  | { kind: 'refused'; status: 400 | 401 | 403 | 404 | 405 | 421; says: string };

/** A request, as far as it matters here. */
export interface Knock {
  method: string;
  url: URL;
  headers: IncomingHttpHeaders;
}

/** Header of the page's own requests that change something. */
const TOKEN_HEADER = 'x-stoker-token';

const HINT = 'paste the address that kubectl stoker ui printed into the address bar';
const secret = (bytes: number) => randomBytes(bytes).toString('base64url');

/** Lets in whoever has the address that was printed, from the page itself and from nowhere else. */
export class Door {
  /** Path of the page. No other server on this machine knows it, so none is sent the cookie: cookies know no ports. */
  readonly base = `/${secret(9)}/`;
  /** What a page of this process sends with everything that changes something. */
  pageToken = secret(32);
  #cookie = secret(32);
  readonly #token = secret(32);
  /** Other users of this machine see the command line that opens a browser: what is in it works once. */
  #ticket: string | undefined;
  /** The one that was used. */
  #spent: string | undefined;
  #session = new AbortController();
  readonly #host: string;

  /** `host` is the only one that requests may be for, such as `127.0.0.1:8080`. */
  constructor(host: string) {
    this.#host = host;
  }

  /** Aborted when all who have entered so far are shown out. */
  get session(): AbortSignal {
    return this.#session.signal;
  }

  get origin(): string {
    return `http://${this.#host}`;
  }

  /** The address for people. */
  get address(): string {
    return `${this.origin}/?token=${this.#token}`;
  }

  /** Makes an address that works once, and ends those that were made before. */
  makeTicket(): string {
    this.#ticket = secret(32);
    return `${this.origin}/?token=${this.#ticket}`;
  }

  /** The value of `Set-Cookie` for whoever enters. */
  get cookie(): string {
    return `stoker-ui=${this.#cookie}; Path=${this.base}; HttpOnly; SameSite=Strict`;
  }

  judge({ method, url, headers }: Knock): Verdict {
    // A name that somebody else controls may lead here, too (DNS rebinding).
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

  /** Two have the same ticket: who was faster may be anybody. Once, or it would be a way to keep people out. */
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

/** Of every answer: nothing from elsewhere runs, nothing is kept, and nobody else shows or reads it. */
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
