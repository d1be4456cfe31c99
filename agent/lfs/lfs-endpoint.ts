/**
 * The Git LFS server that belongs to a repository over http or https, by the rule of git-lfs. A `.lfsconfig` in the
 * repository has no say: it could send credentials elsewhere. Undefined for other transports, where the host is asked.
 */
export function lfsEndpoint(repo: string): string | undefined {
  if (!/^https?:\/\//.test(repo)) return undefined;
  const url = repo.replace(/\/+$/, '');
  return `${url}${url.endsWith('.git') ? '' : '.git'}/info/lfs`;
}
