import { isIP } from 'node:net';
import { withoutTrailingSlashes } from '../../shared/domain/relative-path.ts';
import type { Repository } from '../../shared/domain/repository.ts';
import { TerminalError } from '../../shared/errors.ts';
import type { GitAccess } from '../../shared/io/git/git-environment.ts';
import { gitErrorOf } from '../../shared/io/git/git-error.ts';
import type { GuardedHttp } from '../../shared/io/http/guarded-http.ts';

/** The part of an access that says where git connects to. */
type Target = Pick<GitAccess, 'resolve' | 'rewrite' | 'sshHost' | 'virtualHost'>;

/**
 * Makes git connect to an address that was checked, and to no other that the name may have a moment later. Throws
 * {@link TerminalError} where the host is at an address that is denied.
 */
export async function targetOf(repository: Repository, http: GuardedHttp): Promise<Target> {
  const { url, host, transport } = repository;
  if (transport === 'http' && http.hasProxyFor(new URL(url))) {
    await http.guard.checkProxied(host);
    return {};
  }
  const address = await http.guard.addressOf(host).catch((error: unknown) => {
    throw error instanceof TerminalError ? error : gitErrorOf('', error);
  });
  if (address === host) return {};
  const { port = '', protocol = '' } = URL.canParse(url) ? new URL(url) : {};
  if (transport === 'http') return { resolve: `${host}:${port || (protocol === 'https:' ? 443 : 80)}:${address}` };
  // As ssh itself writes a host in known_hosts: the port is named unless it is the usual one.
  if (transport === 'ssh') return { sshHost: { address, alias: /^(22)?$/.test(port) ? host : `[${host}]:${port}` } };
  const name = port ? `${host}:${port}` : host;
  const to = `git://${isIP(address) === 6 ? `[${address}]` : address}${port && `:${port}`}/`;
  // The host still has to be told its name: it may serve several.
  return { rewrite: { from: /^git:\/\/[^/]*\//i.exec(url)?.[0] ?? url, to }, virtualHost: name };
}

const DISCOVERY = '/info/refs?service=git-upload-pack';

/**
 * Where a host sends the requests for a repository. Redirects count within its origin where there are credentials, and
 * within its name elsewhere, but never from https to http. Throws {@link TerminalError} where they lead out.
 */
export async function findRepository(
  repo: string,
  { authorization, ca }: Pick<GitAccess, 'authorization'> & { ca: string | undefined },
  http: GuardedHttp,
): Promise<string> {
  const start = new URL(`${withoutTrailingSlashes(repo)}${DISCOVERY}`);
  const headers = {
    'User-Agent': 'git/2 (stoker-operator)',
    'Git-Protocol': 'version=2',
    ...(authorization && { Authorization: authorization.value }),
  };
  const { url, response } = await http.follow(start, (to) => {
    const isWithin = authorization ? to.origin === start.origin : to.hostname === start.hostname;
    if (!isWithin || (start.protocol === 'https:' && to.protocol !== 'https:')) throw gitErrorOf('error: 302');
    return { headers, ca };
  });
  response.destroy();
  if (!url.href.endsWith(DISCOVERY) || url.username || url.password) throw gitErrorOf('error: 302');
  return url.href.slice(0, -DISCOVERY.length);
}
