import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { isNetwork, Networks } from '../networks.ts';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

const inEitherCase = (environment: Environment, name: string): string =>
  environment[name] || environment[name.toUpperCase()] || '';

/** Proxy variables by protocol, in the spelling that both Node and curl read. If empty, there is none. */
export const proxiesOf = (environment: Environment) => ({
  http_proxy: inFull(inEitherCase(environment, 'http_proxy')),
  https_proxy: inFull(inEitherCase(environment, 'https_proxy')),
});

/** Adds the default port as Node does: curl uses 1080, and git no proxy at all for `http:///proxy.test`. */
function inFull(proxy: string): string {
  if (!/^https?:/.test(proxy) || !URL.canParse(proxy)) return proxy;
  const url = new URL(proxy);
  const { protocol, username, password, hostname } = url;
  const user = username || password ? `${username}:${password}@` : '';
  return `${protocol}//${user}${hostname}:${portOf(url)}`;
}

/** Returns the port of an HTTP or HTTPS URL, or the default. */
export const portOf = ({ port, protocol }: URL): string => port || (protocol === 'https:' ? '443' : '80');

/** Exceptions from the proxies, for {@link isExcepted}. */
export const exceptionsOf = (environment: Environment): string => inEitherCase(environment, 'no_proxy');

/**
 * Returns whether a server is reached without the proxy, according to `NO_PROXY` and Go's rules
 * (https://pkg.go.dev/golang.org/x/net/http/httpproxy#Config), which Kubernetes uses. Node and curl have other rules.
 */
export function isExcepted(server: URL, noProxy: string): boolean {
  const host = hostOf(server);
  const port = portOf(server);
  return noProxy
    .split(',')
    .map((text) => text.trim().toLowerCase())
    .some((text) => text !== '' && isNamed(text, { host, port }));
}

const hostOf = ({ hostname }: URL): string => hostname.toLowerCase().replace(/^\[|\]$|\.$/g, '');

function isNamed(text: string, { host, port }: { host: string; port: string }): boolean {
  if (text === '*') return true;
  if (text.includes('/')) return isInNetwork(host, text);
  const [, bracketed, plain = '', wanted] = /^(?:\[([^\]]+)\]|(.*?))(?::(\d*))?$/.exec(text) ?? [];
  // An IPv6 address without brackets has no port.
  const [name, onlyPort] = isIP(text) === 6 ? [text, undefined] : [bracketed ?? plain, wanted];
  if (onlyPort && onlyPort !== port) return false;
  if (isIP(name)) return isInNetwork(host, `${name}/${isIP(name) === 6 ? 128 : 32}`);
  if (isIP(host)) return false; // no domain contains it
  const domain = toAscii(name.replace(/^\*\./, '.'));
  return domain.startsWith('.') ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

/** Normalizes a host like a URL. Returns invalid names unchanged. */
const toAscii = (name: string): string => domainToASCII(name) || name;

/** In Go, no IPv4 address is in an IPv6 network. */
const isInNetwork = (host: string, network: string): boolean =>
  isNetwork(network) && isIP(host) >= isIP(network.split('/')[0] ?? '') && new Networks([network]).has(host);
