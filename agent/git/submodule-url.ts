import { ASCII_HOST, hasCredentials, hasForeignHost, parseRepository } from '../../shared/domain/git/repository.ts';

/** URL of a submodule, or the reason why it isn't fetched. */
export type SubmoduleUrl =
  /** `isTrusted`: the credentials of `spec.git.auth` are for that server. */
  { kind: 'url'; url: string; isTrusted: boolean } | { kind: 'problem'; message: string };

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const forbidden = /[\u0000-\u0020\u007f]/;
const optionLike = /^-|^[^/]*:\/\/(?:[^/@]*@)?-|@-/;

/**
 * Reads the URL of a submodule. A relative one is resolved against the repository that contains it (gitsubmodules(7)),
 * and others follow the rules of `spec.git.repo`. Credentials are only for the server in `spec.git.repo`.
 */
export function submoduleUrl(given: string, { parent, root }: { parent: string; root: string }): SubmoduleUrl {
  const url = /^\.\.?(\/|$)/.test(given) ? resolveRelative(given, parent) : given;
  if (url === undefined) return problem('its relative URL leads outside the git server');
  const repository = parseRepository(url);
  if (hasForeignHost(url)) return problem(`its URL in .gitmodules is ambiguous: ${ASCII_HOST}`);
  if (!repository || forbidden.test(url) || optionLike.test(url)) {
    return problem("its URL in .gitmodules isn't allowed: use https, http, ssh, git, or a relative URL");
  }
  if (hasCredentials(url)) return problem('its URL in .gitmodules contains credentials, which are never sent');
  const isTrusted = serverOf(url) === serverOf(root);
  if (repository.transport === 'ssh' && !isTrusted) {
    return problem(`it is on another SSH server (${repository.host}), for which the agent has no key: use https`);
  }
  // A committer must not choose the user that the token is sent for.
  const user = isTrusted ? parseRepository(root)?.user : undefined;
  return { kind: 'url', url: user ? repository.url.replace('://', `://${user}@`) : repository.url, isTrusted };
}

/** Follows git's rules: `..` removes the last part of the parent's path, but never the host. */
function resolveRelative(given: string, parent: string): string | undefined {
  const [, start = '', path = ''] = /^([a-z+]+:\/\/[^/]+\/|[^/]+:)(.*)$/i.exec(parent) ?? [];
  const parts = path.split('/').filter((part) => part !== '');
  for (const part of given.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  const root = path.startsWith('/') ? '/' : '';
  return start === '' || parts.length === 0 ? undefined : `${start}${root}${parts.join('/')}`;
}

/** Returns protocol, host, and port in one form for both notations of ssh URLs. */
function serverOf(url: string): string {
  if (!url.includes('://')) return `ssh://${parseRepository(url)?.host}:22`;
  const { protocol, hostname, port } = new URL(url);
  return `${protocol}//${hostname.toLowerCase()}:${port || (protocol === 'ssh:' ? '22' : '')}`;
}

const problem = (message: string): SubmoduleUrl => ({ kind: 'problem', message });
