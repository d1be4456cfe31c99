import { gitPortOf, inUrl, type Repository, sshHostsOf } from '../../shared/domain/git/repository.ts';
import { TerminalError } from '../../shared/errors.ts';
import { connectableFirst } from '../../shared/io/connectable-first.ts';
import type { GitAccess } from '../../shared/io/git/git-environment.ts';
import { connectionErrorOf } from '../../shared/io/git/git-error.ts';
import { explainRedirectLoop, notGitError, redirectError } from '../../shared/io/git/refusals.ts';
import type { GuardedHttp } from '../../shared/io/http/guarded-http.ts';
import { portOf } from '../../shared/io/http/no-proxy.ts';

/** Access settings that determine the server that git connects to. */
type Target = Pick<GitAccess, 'origin' | 'isProxied' | 'resolve' | 'rewrite' | 'sshHost' | 'virtualHost'>;

/**
 * Pins git to checked addresses, because the name could resolve to others a moment later, or to a proxy, which resolves
 * the name itself. `repo` is the URL that git gets. Returns the targets to try in sequence: several for ssh, which
 * takes one address at a time. Throws {@link TerminalError} if the server's address is denied.
 */
export async function targetsOf(repository: Repository, repo: string, http: GuardedHttp): Promise<Target[]> {
  const targets = await addressed(repository, http);
  const { url } = repository;
  if (url === repo) return targets;
  return targets.map((target) => {
    const { from, to } = target.rewrite ?? { from: '', to: '' };
    return { ...target, rewrite: { from: repo, to: `${to}${url.slice(from.length)}` } };
  });
}

async function addressed(repository: Repository, http: GuardedHttp): Promise<Target[]> {
  const { url, host, transport } = repository;
  if (transport === 'http' && http.hasProxyFor(new URL(url))) {
    await http.guard.checkProxied(host);
    return [{ origin: originOf(url), isProxied: true }];
  }
  try {
    const addresses = await http.guard.addressesOf(host);
    if (transport === 'ssh') return sshHostsOf(repository, addresses).map((sshHost) => ({ sshHost }));
    if (transport === 'git') return [gitTargetOf(repository, await connectableFirst(addresses, gitPortOf(url)))];
    return [httpTargetOf(url, await connectableFirst(addresses, Number(portOf(new URL(url)))))];
  } catch (error) {
    throw connectionErrorOf(error);
  }
}

function httpTargetOf(url: string, addresses: [string, ...string[]]): Target {
  const origin = originOf(url);
  // Literal: curl takes addresses such as `10.0.0.1.` and `10.0x` for names and would resolve them.
  const written = origin.replace(/^.*\/\/|:\d*$/g, '').toLowerCase();
  const isPinned = written !== addresses[0] && !written.startsWith('[');
  const pinned = `${written}:${portOf(new URL(url))}:${addresses.map(inUrl).join()}`;
  return { origin, resolve: isPinned ? pinned : undefined };
}

function gitTargetOf({ url, host }: Repository, [address]: [string, ...string[]]): Target {
  if (address === host) return {};
  const { port } = new URL(url);
  const name = port ? `${host}:${port}` : host;
  const to = `git://${inUrl(address)}${port && `:${port}`}/`;
  // The server still needs its name: it might serve several.
  return { rewrite: { from: /^git:\/\/[^/]*\//i.exec(url)?.[0] ?? url, to }, virtualHost: name };
}

/** Returns the origin as in the URL: git compares hosts letter by letter, even in unusual notations. */
const originOf = (url: string): string => /^https?:\/\/[^/?#]*/i.exec(url)?.[0] ?? '';

const DISCOVERY = '/info/refs?service=git-upload-pack';

/**
 * Follows the redirects of a server and returns the URL of the repository. With credentials, redirects must keep the
 * origin; without, the host name. They never lead from https to http. Throws {@link TerminalError} for others.
 */
export async function findRepository(
  repo: string,
  { authorization, ca, signal }: Pick<GitAccess, 'authorization'> & { ca: string | undefined; signal: AbortSignal },
  http: GuardedHttp,
): Promise<string> {
  const start = new URL(`${repo}${DISCOVERY}`);
  const headers: Record<string, string> = { 'User-Agent': 'git/2 (stoker-operator)', 'Git-Protocol': 'version=2' };
  if (authorization) headers.Authorization = authorization.value;
  const credentials = authorization ? 'token' : 'none';
  const next = (to: URL) => {
    const isWithin = authorization ? to.origin === start.origin : to.hostname === start.hostname;
    if (!isWithin || (start.protocol === 'https:' && to.protocol !== 'https:')) throw redirectError(credentials, to);
    return { headers, ca, signal };
  };
  const { url, response } = await http.follow(start, next).catch((error: unknown) => {
    throw explainRedirectLoop(error, credentials);
  });
  response.destroy();
  if (url.username || url.password) throw redirectError(credentials);
  if (!url.href.endsWith(DISCOVERY)) throw notGitError(credentials);
  return url.href.slice(0, -DISCOVERY.length);
}
