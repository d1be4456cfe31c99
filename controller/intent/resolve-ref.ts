import { isCommitHash, isValidRefName } from '../../shared/domain/git/check-ref-name.ts';
import type { AdvertisedRefs } from '../polling/query-result.ts';

export interface ResolvedRef {
  commit: string;
  /** Full name of the ref, or the commit hash if that was requested. */
  qualifiedRef: string;
  /** The short name is both a tag and a branch, at different commits; the tag is used. */
  ambiguous: boolean;
}

/**
 * Resolves a name among the advertised refs: by full name, then as a tag, as a branch, and with or without a leading
 * `v`. A full hash resolves to itself if it is among the refs, and `HEAD` to the default branch of the server.
 */
export function resolveRef(name: string, refs: AdvertisedRefs): ResolvedRef | undefined {
  if (isCommitHash(name) || isFullName(name)) {
    const commit = refs.get(name);
    return commit ? { commit, qualifiedRef: name, ambiguous: false } : undefined;
  }
  for (const short of shortNames(name)) {
    const resolved = resolveShort(short, refs);
    if (resolved) return resolved;
  }
  return undefined;
}

function isFullName(name: string): boolean {
  return name === 'HEAD' || name.startsWith('refs/');
}

function resolveShort(name: string, refs: AdvertisedRefs): ResolvedRef | undefined {
  const qualifiedRef = fullNames(name).find((ref) => refs.has(ref));
  if (qualifiedRef === undefined) return undefined;
  const commit = refs.get(qualifiedRef) as string;
  const branch = refs.get(`refs/heads/${name}`);
  return { commit, qualifiedRef, ambiguous: branch !== undefined && branch !== commit };
}

/** Explains why HEAD doesn't resolve. */
export const noDefaultBranch =
  "the repository has no default branch; it is empty, or HEAD names a branch that doesn't exist";

/** A name, and the same with or without a leading `v`: `v1.2` for `1.2`, and vice versa. */
function shortNames(name: string): string[] {
  return [name, name.startsWith('v') ? name.slice(1) : `v${name}`].filter(isValidRefName);
}

/** The refs that a short name can stand for, in the order of precedence. */
function fullNames(short: string): string[] {
  return [`refs/tags/${short}`, `refs/heads/${short}`, `refs/${short}`].filter(isBelowNamespace);
}

/**
 * Whether a name has a part below `refs/heads/`, `refs/tags/`, or another namespace. Git servers accept no push to others,
 * such as `refs/heads`, and as a prefix it would match the whole namespace.
 */
function isBelowNamespace(fullName: string): boolean {
  return isValidRefName(fullName) && fullName.split('/').length > 2;
}

/** Prefixes to request from a server, which then sends little more than {@link resolveRef} needs; none for a hash. */
export function refPrefixes(name: string): string[] {
  if (isCommitHash(name)) return [];
  if (name === 'HEAD') return [name];
  return isFullName(name) ? [name].filter(isBelowNamespace) : shortNames(name).flatMap(fullNames);
}
