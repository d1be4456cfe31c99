/** How a repository is reached. */
type Transport = 'http' | 'ssh' | 'git';

/** What a repository URL names. */
export interface Repository {
  url: string;
  transport: Transport;
  /** Host name in lower case, without user and port; IPv6 without brackets. */
  host: string;
}

const scpLike = /^[^@/:\s]+@([^@:/\s]+):/;
/**
 * A URL in which git, ssh and curl find the host that we find. They decode what comes before the path or end it
 * elsewhere, so an escape, a question mark, a number sign, a backslash or a second @ there could hide another host.
 */
const plainUrl = /^[a-z]+:\/\/(?:[^/\\%?#@\s]*@)?[^/\\%?#@\s]+(?:\/|$)/i;
const hasSpace = /[\s\p{Cc}]/u;
const hostOfUrl = /^[a-z]+:\/\/(?:[^/@]*@)?([^/@]*)(?:\/|$)/i;
const notAscii = /[\u0080-\uffff]/;

/**
 * Reads a repository URL, or the form `user@host:path`. Undefined for anything else, `file:` and `ext:` included, and
 * for a URL that leaves doubts about its host: one that is not in ASCII, too.
 */
export function parseRepository(url: string): Repository | undefined {
  if (hasSpace.test(url) || hasForeignHost(url)) return undefined;
  const host = scpLike.exec(url)?.[1];
  if (host && !url.includes('://')) return { url, transport: 'ssh', host: host.toLowerCase() };
  if (!plainUrl.test(url) || !URL.canParse(url)) return undefined;
  const { protocol, hostname } = new URL(url);
  const transport = transports[protocol];
  if (!transport || hostname === '') return undefined;
  return { url, transport, host: hostname.toLowerCase().replace(/^\[|\]$/g, '') };
}

/**
 * Whether the host is written in other characters than ASCII. Programs differ in the name that they look up then, by
 * their tables of IDNA (RFC 5891), so that what was checked may be another host than the one that git asks.
 */
export function hasForeignHost(url: string): boolean {
  const host = url.includes('://') ? hostOfUrl.exec(url)?.[1] : scpLike.exec(url)?.[1];
  return host !== undefined && notAscii.test(host);
}

/** What to do about it. */
export const ASCII_HOST = 'write a host that is not in ASCII in its form that begins with xn--';

/** Where ssh connects to for a repository whose host has that address, and the name of the host in known_hosts. */
export function sshHostOf(
  { url, host }: Repository,
  address: string,
): { address: string; port: number; alias: string } {
  const port = Number((URL.canParse(url) && new URL(url).port) || 22);
  // As ssh itself writes it: the port is named unless it is the usual one.
  return { address, port, alias: port === 22 ? host : `[${host}]:${port}` };
}

const transports: Record<string, Transport> = { 'https:': 'http', 'http:': 'http', 'ssh:': 'ssh', 'git:': 'git' };

/** User name that hosts expect with a token; a value `user:password` in the Secret says so itself. */
function basicCredentials(host: string, secret: string): { username: string; password: string } {
  const value = secret.trim();
  const colon = value.indexOf(':');
  if (colon > 0) return { username: value.slice(0, colon), password: value.slice(colon + 1) };
  const username = host === 'bitbucket.org' ? 'x-token-auth' : 'x-access-token';
  return { username, password: value };
}

const bearer = /^Bearer +[A-Za-z0-9._~+/-]+=*$/i;

/**
 * Value of an HTTP `Authorization` header for a token: basic (RFC 7617), or bearer (RFC 6750) where the value says so
 * itself, as `Bearer …`.
 */
export function authorizationOf(host: string, secret: string): string {
  if (bearer.test(secret.trim())) return secret.trim();
  const { username, password } = basicCredentials(host, secret);
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

const standardPorts: Record<string, string> = { 'http:': '80', 'https:': '443', 'ssh:': '22', 'git:': '9418' };

/** Whether two URLs name one repository, however it is reached: `https://git.test/a.git` is `git@git.test:a`. */
export function isSameRepository(one: string, other: string): boolean {
  return one === other || placeOf(one) === placeOf(other);
}

function placeOf(url: string): string {
  const repository = parseRepository(url);
  if (!repository) return url;
  const isUrl = url.includes('://');
  const { protocol, port, pathname } = isUrl
    ? new URL(url)
    : { protocol: 'ssh:', port: '', pathname: url.slice(url.indexOf(':') + 1) };
  const path = pathname
    .replace(/^\//, '')
    .replace(/\/$/, '')
    .replace(/\.git$/, '');
  return JSON.stringify([repository.host, port === standardPorts[protocol] ? '' : port, path]);
}
