import { withoutTrailingSlashes } from '../files/relative-path.ts';
import { withoutUndefined } from '../text/objects.ts';

/** Transport to a repository. */
type Transport = 'http' | 'ssh' | 'git';

/** A parsed repository URL. */
export interface Repository {
  /** URL to fetch from, without a user over http and https, and without trailing slashes. */
  url: string;
  transport: Transport;
  /** Host name in lower case, without user and port; IPv6 without brackets. */
  host: string;
  /** The user in an http or https URL. */
  user?: string;
}

const scpLike = /^[^@/:\s]+@([^@:/\s]+):/;
/**
 * A URL in which git, ssh, and curl find the same host as we do. They parse the part before the path differently, so an
 * escape, a question mark, a number sign, a backslash, or a second @ in it could hide another host.
 */
const plainUrl = /^[a-z]+:\/\/(?:[^/\\%?#@\s]*@)?[^/\\%?#@\s]+(?:\/|$)/i;
const hasSpace = /[\s\p{Cc}]/u;
const hostOfUrl = /^[a-z]+:\/\/(?:[^/@]*@)?([^/@]*)(?:\/|$)/i;
const notAscii = /[\u0080-\uffff]/;
/**
 * An escape that the user of an http or https URL can have (also valid for RE2): not of a control character, or of
 * `# / : ? \`, which could hide another host or a password.
 */
export const USER_ESCAPE = '%(2[0-24-9A-Ea-e]|3[0-9B-Eb-e]|5[ABD-Fabd-f0-9]|7[0-9A-Ea-e]|[468-9A-Fa-f][0-9A-Fa-f])';
/** The user, which is removed before the URL is parsed. */
const userOfHttp = new RegExp(`^(https?://)((?:[^/\\\\%?#@\\s]|${USER_ESCAPE})*)@(?![^/]*@)`, 'i');

/**
 * Parses a repository URL, or the form `user@host:path`. Undefined for anything else, including `file:` and `ext:`, and
 * for a URL with an ambiguous or non-ASCII host.
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
  const [user = ''] = (userOfHttp.exec(repo)?.[2] ?? '').split(':').map(unescaped);
  const host = hostname.toLowerCase().replace(/^\[|\]$/g, '');
  return withoutUndefined({ url, transport, host, user: user || undefined });
}

/** Escapes of bytes that aren't UTF-8 remain. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The decoded parts of a repository's path, without empty ones and without the ending `.git`. Undefined if there are none,
 * or if one of them could lead elsewhere.
 */
export function repositoryPathOf(repo: string): string[] | undefined {
  const path = repo.includes('://') ? new URL(repo).pathname : repo.slice(repo.indexOf(':') + 1);
  const encoded = path.split('/').filter((segment) => segment !== '');
  try {
    const segments = encoded.map(decodeURIComponent);
    const name = segments.pop()?.replace(/\.git$/i, '');
    if (name === undefined) return undefined;
    const all = [...segments, name];
    return all.some((segment) => /^\.{0,2}$|[\p{Cc}\\/]/u.test(segment)) ? undefined : all;
  } catch {
    return undefined;
  }
}

/** Credentials in a URL (also valid for RE2): a password, or a token in place of a user, which git servers accept. */
export const CREDENTIALS = [
  '^git://[^/]*@',
  '^(https?|ssh)://[^/@]*:[^/@]*@',
  '^https?://(gh[a-z]_|github_pat_|gl(pat|dt|soat|cbt|rt|ptt|ft|imt|oas)-|AT(BB|CTT|ATT)|[^/@]{40})[^/@]*@',
].join('|');
const credentials = new RegExp(CREDENTIALS, 'i');

/** Checks whether a URL contains more than a user name. */
export const hasCredentials = (url: string): boolean => credentials.test(url);

/**
 * Checks whether the host has non-ASCII characters. Programs with different IDNA tables (RFC 5891) resolve different
 * names, so git could connect to a host that wasn't checked.
 */
export function hasForeignHost(url: string): boolean {
  const host = url.includes('://') ? hostOfUrl.exec(url)?.[1] : scpLike.exec(url)?.[1];
  return host !== undefined && notAscii.test(host);
}

/** Advice for a non-ASCII host. */
export const ASCII_HOST = 'write an internationalized host in its xn-- form';

/** Host that ssh connects to. */
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

/** The targets to try in order, for a repository whose host has these addresses. */
export function sshHostsOf({ url, host }: Repository, addresses: readonly string[]): SshHost[] {
  const port = Number((URL.canParse(url) && new URL(url).port) || 22);
  // In ssh's own form, with the port unless it's the default.
  const alias = port === 22 ? host : `[${host}]:${port}`;
  const places = addresses.map((address) => ({ address, port, alias }));
  const last = places.length - 1;
  return places.map((place, index) => (index === last ? place : { ...place, connectSeconds: CONNECT_SECONDS }));
}

/** The port of a `git://` URL. */
export const gitPortOf = (url: string): number => Number(new URL(url).port || 9418);

/** An IP address as the host of a URL. */
export const inUrl = (address: string): string => (address.includes(':') ? `[${address}]` : address);

const transports: Record<string, Transport> = { 'https:': 'http', 'http:': 'http', 'ssh:': 'ssh', 'git:': 'git' };

/** The account that a token belongs to. */
type Account = Pick<Repository, 'host' | 'user'>;

/** User name for a token if the URL has none. */
const userOfToken = ({ host, user }: Account): string =>
  user ?? (host === 'bitbucket.org' ? 'x-token-auth' : 'x-access-token');

/** `USER:PASSWORD` for a token. `:PASSWORD` has no user, as in the manual of Azure DevOps. */
function basicCredentials(account: Account, token: string): string {
  if (token.startsWith(':')) return `${account.user ?? ''}${token}`;
  return token.includes(':') ? token : `${userOfToken(account)}:${token}`;
}

/** Returns the user that is sent with a token; undefined if it is from the Secret, where it can be a token as well. */
export function sentUserOf(account: Account, secret: string): string | undefined {
  const token = secret.trim();
  if (completeHeader.test(token) || token.slice(1).includes(':')) return undefined;
  return token.startsWith(':') ? account.user : userOfToken(account);
}

const completeHeader = /^(?:Authorization: *)?(Bearer|Basic) +([A-Za-z0-9._~+/-]+=*)$/i;

/**
 * Value of an HTTP `Authorization` header for a token: basic (RFC 7617), unless the token is already a value such as
 * `Bearer …` (RFC 6750).
 */
export function authorizationOf(account: Account, secret: string): string {
  const token = secret.trim();
  const [, scheme, value] = completeHeader.exec(token) ?? [];
  if (scheme) return `${/^basic$/i.test(scheme) ? 'Basic' : scheme} ${value}`;
  return `Basic ${Buffer.from(basicCredentials(account, token)).toString('base64')}`;
}

const standardPorts: Record<string, string> = { 'http:': '80', 'https:': '443', 'ssh:': '22', 'git:': '9418' };

/** Checks whether two URLs refer to one repository over any transport: `https://git.test/a.git` and `git@git.test:a`. */
export function isSameRepository(one: string, other: string): boolean {
  return one === other || repositoryKey(one) === repositoryKey(other);
}

/** Identifies a repository, whatever the transport and the spelling of its URL. */
export function repositoryKey(url: string): string {
  const repository = parseRepository(url);
  if (!repository) return url;
  const { url: place } = repository;
  const { protocol, port } = place.includes('://') ? new URL(place) : { protocol: 'ssh:', port: '' };
  const path = repositoryPathOf(place) ?? place;
  return JSON.stringify([repository.host, port === standardPorts[protocol] ? '' : port, path]);
}
