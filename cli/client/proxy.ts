import { BlockList, isIP } from 'node:net';
import { EXIT, Problem } from './problem.ts';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy to a server, as kubectl chooses it: the `proxy-url` of the kubeconfig, else what the environment says by the
 * rules of Go (https://pkg.go.dev/golang.org/x/net/http/httpproxy#Config). Undefined: none. Throws {@link Problem}.
 */
export function proxyFor(server: URL, proxyUrl: string | undefined, environment: Environment): URL | undefined {
  const name = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const given = proxyUrl || variable(environment, name);
  if (!given || (!proxyUrl && !usesProxy(server, variable(environment, 'NO_PROXY')))) return undefined;
  const from = proxyUrl ? 'the proxy-url of the kubeconfig' : name;
  const url = given.includes('://') ? given : `http://${given}`;
  if (!URL.canParse(url)) throw new Problem(`${from} is no URL`, EXIT.unavailable);
  const proxy = new URL(url);
  if (!['http:', 'https:'].includes(proxy.protocol))
    throw new Problem(
      `${from} is a proxy for ${proxy.protocol.slice(0, -1)}: kubectl gs takes http and https`,
      EXIT.unavailable,
    );
  return proxy;
}

const variable = (environment: Environment, name: string): string =>
  environment[name] || environment[name.toLowerCase()] || '';

const withoutBrackets = (host: string): string => host.replace(/^\[|\]$/g, '');

function usesProxy(server: URL, exceptions: string): boolean {
  const host = withoutBrackets(server.hostname.toLowerCase()).replace(/\.$/, '');
  if (host === 'localhost' || isInNetwork(host, '127.0.0.0/8') || host === '::1') return false;
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  return !exceptions
    .split(',')
    .map((text) => text.trim().toLowerCase())
    .some((text) => text !== '' && isException(text, { host, port }));
}

function isException(text: string, { host, port }: { host: string; port: string }): boolean {
  if (text === '*') return true;
  if (text.includes('/')) return isInNetwork(host, text);
  const [, bracketed, plain = '', wanted] = /^(?:\[([^\]]+)\]|(.*?))(?::(\d+))?$/.exec(text) ?? [];
  // An address of version 6 without brackets has no port.
  const [name, onlyPort] = isIP(text) === 6 ? [text, undefined] : [bracketed ?? plain, wanted];
  if (onlyPort !== undefined && onlyPort !== port) return false;
  if (isIP(name)) return isInNetwork(host, `${name}/${isIP(name) === 6 ? 128 : 32}`);
  const domain = name.replace(/^\*\./, '.');
  return domain.startsWith('.') ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

function isInNetwork(host: string, network: string): boolean {
  const [address = '', bits] = network.split('/');
  const version = isIP(address);
  const family = version === 6 ? 'ipv6' : 'ipv4';
  if (version === 0 || isIP(host) !== version || !/^\d{1,3}$/.test(bits ?? '')) return false;
  if (Number(bits) > (version === 6 ? 128 : 32)) return false;
  const list = new BlockList();
  list.addSubnet(address, Number(bits), family);
  return list.check(host, family);
}
