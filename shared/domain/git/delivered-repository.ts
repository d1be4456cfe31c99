import { NO_REPOSITORY } from '../../api/names.ts';
import { compileGlob } from '../files/glob.ts';

/** The part of a spec that determines the accepted deliveries. */
export interface AcceptedRepositories {
  git: { repo: string };
  /** Absent under a CRD of an earlier release. */
  webhook: { repositories?: readonly string[] | undefined };
}

/**
 * Checks whether a delivery of a recorded repository is for this resource. Compares paths but not hosts, because a server
 * can have several names. The receiver's admission policy contains the same rules in CEL.
 */
export function isAcceptedRepository(recorded: string, { git, webhook }: AcceptedRepositories): boolean {
  if (recorded === NO_REPOSITORY) return true;
  // Compared with and without the ending, because a repository can be named `a.git`.
  const paths = recorded.split(/\s+/).flatMap((path) => [path, repositoryPath(path)]);
  if (paths.includes(repositoryPath(git.repo))) return true;
  return (webhook.repositories ?? []).flatMap(globsOf).some((glob) => paths.some(compileGlob(glob)));
}

/** Host and path of `scheme://host/path`. */
const URL_FORM = /^[a-z][a-z0-9+.-]*:\/\/([^/]*)(.*)$/is;
/** Host and path of `user@host:path`, with an optional user, and with an IPv6 address or `[user@host:port]`. */
const SCP_FORM = /^((?:[^/@:[]+@)?(?:\[[^\]/]*\]|[^/@:[\]]+)):(.*)$/s;

/** The path that repositories are compared by, from a URL, `user@host:path`, or a full name. */
export function repositoryPath(text: string): string {
  const location = URL_FORM.exec(text) ?? SCP_FORM.exec(text);
  const [, host = '', pathOnHost = text] = location ?? [];
  const path = comparedPath(canonical(pathOnHost));
  const [, label, domain] = AZURE_HOST.exec(host.toLowerCase()) ?? [];
  if (label === undefined) return path;
  const withOrganization = domain === 'visualstudio' && label !== 'vs-ssh' ? `${label}/${path}` : path;
  // A part of older URLs, which on other servers is a name.
  return withOrganization.replace('/defaultcollection/', '/');
}

/** Azure DevOps in the cloud. The first part of an older host is the organization. */
const AZURE_HOST = /(?:^|@)([^.@:]+)\.(visualstudio|azure)\.com(?::\d+)?$/;

/** Lower-cases and percent-decodes a path, except spaces, control characters, and percent signs. */
function canonical(path: string): string {
  const bytes = Buffer.from(path)
    .toString('latin1')
    .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return lowerCase(Buffer.from(bytes, 'latin1').toString()).replaceAll(/[\s\p{C}%]/gu, (character) =>
    encodeURIComponent(character).toLowerCase(),
  );
}

/** Keeps characters whose lower case contains ASCII, such as the Turkish İ, because CEL lowers ASCII only. */
function lowerCase(text: string): string {
  const lowered = (character: string) => character.toLowerCase();
  return text
    .replaceAll(/[A-Z]/g, lowered)
    .replaceAll(/[^\0-\x7f]/gu, (character) => (/[\0-\x7f]/.test(lowered(character)) ? character : lowered(character)));
}

/**
 * Removes parts that are specific to clone URLs: `_git`, `_ssh`, `_git/_full`, and `_git/_optimized` (Azure), `v3/` (Azure
 * over SSH), `scm/` (Bitbucket Data Center).
 */
function comparedPath(path: string): string {
  const named = `/${path}`.replaceAll('/_git/_full/', '/').replaceAll('/_git/_optimized/', '/');
  const segments = named.split('/').filter((segment) => !['', '_git', '_ssh'].includes(segment));
  if (segments.length > 2 && segments.at(-3) === 'scm') segments.splice(0, segments.length - 2);
  if (segments.length > 2 && segments[0] === 'v3') segments.shift();
  return segments.join('/').replace(/\/?\.git$/, '');
}

/** An entry of `spec.webhook.repositories` with and without its host, a first part with a dot or a port. */
function globsOf(entry: string): string[] {
  const glob = lowerCase(entry);
  const [, path] = /^(?:[^/]*[.:][^/]*|localhost)\/(.+)$/.exec(glob) ?? [];
  return [glob, ...(path === undefined ? [] : [path])].map(comparedPath);
}
