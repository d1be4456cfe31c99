import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { isNetwork, Networks } from '../networks.ts';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

const inEitherCase = (environment: Environment, name: string): string =>
  environment[name] || environment[name.toUpperCase()] || '';

/** The proxies to git hosts by protocol, in the spelling that Node and curl read for both; an empty one is none. */
export const proxiesOf = (environment: Environment) => ({
  http_proxy: inFull(inEitherCase(environment, 'http_proxy')),
  https_proxy: inFull(inEitherCase(environment, 'https_proxy')),
});

/** As Node reads it: curl takes port 1080 where there is none, and git no proxy at all for `http:///proxy.test`. */
function inFull(proxy: string): string {
  if (!/^https?:/.test(proxy) || !URL.canParse(proxy)) return proxy;
  const url = new URL(proxy);
  const { protocol, username, password, hostname } = url;
  const user = username || password ? `${username}:${password}@` : '';
  return `${protocol}//${user}${hostname}:${portOf(url)}`;
}

/** The port of a URL of http or https, also where that is left out. */
export const portOf = ({ port, protocol }: URL): string => port || (protocol === 'https:' ? '443' : '80');

/** What is excepted from them, for {@link isExcepted}. */
export const exceptionsOf = (environment: Environment): string => inEitherCase(environment, 'no_proxy');

/**
 * Whether a server is reached without the proxy, by the value of `NO_PROXY` and the rules of Go
 * (https://pkg.go.dev/golang.org/x/net/http/httpproxy#Config), as all of Kubernetes has them. Node and curl each have others.
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
  // An address of version 6 without brackets has no port.
  const [name, onlyPort] = isIP(text) === 6 ? [text, undefined] : [bracketed ?? plain, wanted];
  if (onlyPort && onlyPort !== port) return false;
  if (isIP(name)) return isInNetwork(host, `${name}/${isIP(name) === 6 ? 128 : 32}`);
  if (isIP(host)) return false; // it is below no name
  const domain = toAscii(name.replace(/^\*\./, '.'));
  return domain.startsWith('.') ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

/** As a URL has it; what is no name stays as it is. */
const toAscii = (name: string): string => domainToASCII(name) || name;

/** As Go has it, no IPv4 address is in an IPv6 network. */
const isInNetwork = (host: string, network: string): boolean =>
  isNetwork(network) && isIP(host) >= isIP(network.split('/')[0] ?? '') && new Networks([network]).has(host);
