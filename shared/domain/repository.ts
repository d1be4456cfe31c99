import { withoutUndefined } from './objects.ts';
import { withoutTrailingSlashes } from './relative-path.ts';

/** How a repository is reached. */
type Transport = 'http' | 'ssh' | 'git';

/** What a repository URL names. */
export interface Repository {
  /** What to fetch from: over http and https without a user, and without slashes at its end. */
  url: string;
  transport: Transport;
  /** Host name in lower case, without user and port; IPv6 without brackets. */
  host: string;
  /** The user that an http or https URL names. */
  user?: string;
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
/** The user may be an e-mail address, whose @ is an escape. A URL is read only without it. */
const userOfHttp = /^(https?:\/\/)((?:[^/\\%?#@\s]|%40)*)@(?![^/]*@)/i;

/**
 * Reads a repository URL, or the form `user@host:path`. Undefined for anything else, `file:` and `ext:` included, and
 * for a URL that leaves doubts about its host: one that is not in ASCII, too.
 */
export function parseRepository(repo: string): Repository | undefined {
  if (hasSpace.test(repo) || hasForeignHost(repo)) return undefined;
  const url = withoutTrailingSlashes(repo.replace(userOfHttp, '$1'));
  const sshHost = scpLike.exec(repo)?.[1];
  if (sshHost && !repo.includes('://')) return { url, transport: 'ssh', host: sshHost.toLowerCase() };
  if (!plainUrl.test(url) || !URL.canParse(url)) return undefined;
  const { protocol, hostname } = new URL(url);
  const transport = transports[protocol];
  if (!transport || hostname === '') return undefined;
  const [user] = (userOfHttp.exec(repo)?.[2] ?? '').replaceAll('%40', '@').split(':');
  const host = hostname.toLowerCase().replace(/^\[|\]$/g, '');
  return withoutUndefined({ url, transport, host, user: user || undefined });
}

/** What a URL must not hold, for RE2 as well: a password, or a token in the place of a user, which git servers take. */
export const CREDENTIALS = [
  '^git://[^/]*@',
  '^(https?|ssh)://[^/@]*:[^/@]*@',
  '^https?://(gh[a-z]_|github_pat_|gl(pat|dt|soat|cbt|rt|ptt|ft|imt|oas)-|AT(BB|CTT|ATT)|[^/@]{40})[^/@]*@',
].join('|');
const credentials = new RegExp(CREDENTIALS, 'i');

/** Whether a URL holds more than the name of a user. */
export const hasCredentials = (url: string): boolean => credentials.test(url);

/**
 * Whether the host is written in other characters than ASCII. Programs differ in the name that they look up then, by
 * their tables of IDNA (RFC 5891), so that what was checked may be another host than the one that git asks.
 */
export function hasForeignHost(url: string): boolean {
  const host = url.includes('://') ? hostOfUrl.exec(url)?.[1] : scpLike.exec(url)?.[1];
  return host !== undefined && notAscii.test(host);
}

/** What to do about it. */
export const ASCII_HOST = 'write an internationalized host in its xn-- form';

/** Where ssh connects to. */
export interface SshHost {
  address: string;
  port: number;
  /** Name of the host in known_hosts. */
  alias: string;
  /** Time until the host and ssh have agreed on a key, in seconds. If omitted, 10. */
  connectSeconds?: number;
}

/** Time for each address of a host but the last one, so that four fit into a query of 20 s. */
const CONNECT_SECONDS = 4;

/** The places to try, one after the other, for a repository whose host has these addresses. */
export function sshHostsOf({ url, host }: Repository, addresses: readonly string[]): SshHost[] {
  const port = Number((URL.canParse(url) && new URL(url).port) || 22);
  // As ssh itself writes it: the port is named unless it is the usual one.
  const alias = port === 22 ? host : `[${host}]:${port}`;
  const places = addresses.map((address) => ({ address, port, alias }));
  const last = places.length - 1;
  return places.map((place, index) => (index === last ? place : { ...place, connectSeconds: CONNECT_SECONDS }));
}

/** The port that git connects to for a `git://` URL. */
export const gitPortOf = (url: string): number => Number(new URL(url).port || 9418);

/** An IP address as the host of a URL. */
export const inUrl = (address: string): string => (address.includes(':') ? `[${address}]` : address);

const transports: Record<string, Transport> = { 'https:': 'http', 'http:': 'http', 'ssh:': 'ssh', 'git:': 'git' };

/** Whose password a token is. */
type Account = Pick<Repository, 'host' | 'user'>;

/** `USER:PASSWORD` for a token. `:PASSWORD` names no user, as in the manual of Azure DevOps. */
function basicCredentials({ host, user }: Account, token: string): string {
  if (token.startsWith(':')) return `${user ?? ''}${token}`;
  if (token.includes(':')) return token;
  return `${user ?? (host === 'bitbucket.org' ? 'x-token-auth' : 'x-access-token')}:${token}`;
}

const completeHeader = /^(?:Authorization: *)?(Bearer|Basic) +([A-Za-z0-9._~+/-]+=*)$/i;

/**
 * Value of an HTTP `Authorization` header for a token: basic (RFC 7617), unless the token is such a value itself, as
 * `Bearer …` (RFC 6750) is.
 */
export function authorizationOf(account: Account, secret: string): string {
  const token = secret.trim();
  const [, scheme, value] = completeHeader.exec(token) ?? [];
  if (scheme) return `${/^basic$/i.test(scheme) ? 'Basic' : scheme} ${value}`;
  return `Basic ${Buffer.from(basicCredentials(account, token)).toString('base64')}`;
}

const standardPorts: Record<string, string> = { 'http:': '80', 'https:': '443', 'ssh:': '22', 'git:': '9418' };

/** Whether two URLs name one repository, however it is reached: `https://git.test/a.git` is `git@git.test:a`. */
export function isSameRepository(one: string, other: string): boolean {
  return one === other || placeOf(one) === placeOf(other);
}

function placeOf(url: string): string {
  const repository = parseRepository(url);
  if (!repository) return url;
  const { url: place } = repository;
  const { protocol, port, pathname } = place.includes('://')
    ? new URL(place)
    : { protocol: 'ssh:', port: '', pathname: place.slice(place.indexOf(':') + 1) };
  const path = pathname.replace(/^\//, '').replace(/\.git$/, '');
  return JSON.stringify([repository.host, port === standardPorts[protocol] ? '' : port, path]);
}
