import { type Environment, isExcepted } from '../../shared/io/http/no-proxy.ts';
import { Networks } from '../../shared/io/networks.ts';
import { Problem } from './problem.ts';

/**
 * Returns the proxy to a server, as in kubectl: the `proxy-url` of the kubeconfig, or else from the environment by the
 * rules of Go (https://pkg.go.dev/golang.org/x/net/http/httpproxy#Config). Throws {@link Problem}.
 */
export function proxyFor(server: URL, proxyUrl: string | undefined, environment: Environment): URL | undefined {
  const name = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const given = proxyUrl || variable(environment, name);
  const isDirect = () => isThisMachine(server) || isExcepted(server, variable(environment, 'NO_PROXY'));
  if (!given || (!proxyUrl && isDirect())) return undefined;
  const from = proxyUrl ? 'the proxy-url of the kubeconfig' : name;
  const url = given.includes('://') ? given : `http://${given}`;
  if (!URL.canParse(url)) throw new Problem(`${from} is not a URL`, 'KubeconfigInvalid');
  const proxy = new URL(url);
  if (!['http:', 'https:'].includes(proxy.protocol))
    throw new Problem(
      `${from} is a proxy for ${proxy.protocol.slice(0, -1)}: kubectl stoker supports http and https`,
      'KubeconfigInvalid',
    );
  return proxy;
}

const loopback = new Networks(['127.0.0.0/8', '::1/128']);

/** Checks whether a server is this machine. Go uses no proxy for such names. */
export function isThisMachine({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[|\]$|\.$/g, '');
  return host === 'localhost' || loopback.has(host);
}

const variable = (environment: Environment, name: string): string =>
  environment[name] || environment[name.toLowerCase()] || '';
