import { isIP } from 'node:net';
import { withoutTrailingSlashes } from '../../shared/domain/relative-path.ts';
import { type Repository, sshHostOf } from '../../shared/domain/repository.ts';
import { TerminalError } from '../../shared/errors.ts';
import type { GitAccess } from '../../shared/io/git/git-environment.ts';
import { connectionErrorOf, gitErrorOf } from '../../shared/io/git/git-error.ts';
import type { GuardedHttp } from '../../shared/io/http/guarded-http.ts';
import { portOf } from '../../shared/io/http/no-proxy.ts';

/** The part of an access that says where git connects to. */
type Target = Pick<GitAccess, 'origin' | 'isProxied' | 'resolve' | 'rewrite' | 'sshHost' | 'virtualHost'>;

/**
 * Makes git connect to an address that was checked, and to no other that the name may have a moment later, or to a proxy,
 * which looks the name up itself. Throws {@link TerminalError} where the host is at an address that is denied.
 */
export async function targetOf(repository: Repository, http: GuardedHttp): Promise<Target> {
  const { url, host, transport } = repository;
  if (transport === 'http' && http.hasProxyFor(new URL(url))) {
    await http.guard.checkProxied(host);
    return { origin: originOf(url), isProxied: true };
  }
  const address = await addressOf(host, http);
  if (transport === 'ssh') return { sshHost: sshHostOf(repository, address) };
  if (transport === 'http') {
    const origin = originOf(url);
    // As it is written: curl takes addresses such as `10.0.0.1.` and `10.0x` for names, and would look them up.
    const written = origin.replace(/^.*\/\/|:\d*$/g, '').toLowerCase();
    const isPinned = written !== address && !written.startsWith('[');
    const resolve = `${written}:${portOf(new URL(url))}:${address}`;
    return { origin, ...(isPinned && { resolve }) };
  }
  if (address === host) return {};
  const { port = '' } = URL.canParse(url) ? new URL(url) : {};
  const name = port ? `${host}:${port}` : host;
  const to = `git://${isIP(address) === 6 ? `[${address}]` : address}${port && `:${port}`}/`;
  // The host must still learn its name: it may serve several.
  return { rewrite: { from: /^git:\/\/[^/]*\//i.exec(url)?.[0] ?? url, to }, virtualHost: name };
}

/** As the URL has it: git compares hosts letter by letter, also those that are written in another way than usual. */
function originOf(url: string): string {
  const [, scheme = '', host = ''] = /^(https?:\/\/)(?:[^/]*@)?([^/?#]*)/i.exec(url) ?? [];
  return scheme + host;
}

async function addressOf(host: string, { guard }: GuardedHttp): Promise<string> {
  return await guard.addressOf(host).catch((error: unknown) => {
    throw connectionErrorOf(error);
  });
}

const DISCOVERY = '/info/refs?service=git-upload-pack';

/**
 * Where a host sends the requests for a repository. Redirects count within its origin where there are credentials, and
 * within its name elsewhere, but never from https to http. Throws {@link TerminalError} where they lead out.
 */
export async function findRepository(
  repo: string,
  { authorization, ca, signal }: Pick<GitAccess, 'authorization'> & { ca: string | undefined; signal: AbortSignal },
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
    return { headers, ca, signal };
  });
  response.destroy();
  if (!url.href.endsWith(DISCOVERY) || url.username || url.password) throw gitErrorOf('error: 302');
  return url.href.slice(0, -DISCOVERY.length);
}
