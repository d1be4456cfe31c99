import { isCommitHash, isValidRefName } from '../../shared/domain/git/check-ref-name.ts';
import type { AdvertisedRefs, NeededRefs } from '../polling/query-result.ts';
import { rangeKey, readVersionTag, TAGS } from '../polling/version-tags.ts';
import type { Intents } from './intents.ts';

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

/** Returns the refs to query the git server for. */
export function neededRefs({ edit, kept, request, push, range }: Intents): NeededRefs {
  if (range) {
    const named = [request?.ref, push?.ref].filter((ref) => ref !== undefined);
    const tags = named.map((ref) => versionRefs(ref, range.prefix));
    const kept = range.keptTag === undefined ? [] : [`${TAGS}${range.keptTag}`];
    const isNamed = named.length > 0 && tags.every((refs) => refs.length > 0);
    return { prefixes: [...new Set([...kept, ...tags.flat()])], range: rangeKey(range), isNamed, commit: undefined };
  }
  const refs = [edit.target.ref, kept?.target.ref, request?.ref, push?.ref];
  const names = refs.filter((ref) => ref !== undefined && isValidRefName(ref)) as string[];
  const isUnknownHash = request && isCommitHash(request.ref) && !pinnedHashes({ edit, kept }).has(request.ref);
  return {
    prefixes: [...new Set(names.flatMap(refPrefixes))],
    commit: isUnknownHash ? request.ref : undefined,
  };
}

/** The full names of a tag that is a version, with and without `v` if it is given in short; empty for other refs. */
function versionRefs(ref: string, prefix: string): string[] {
  const version = readVersionTag(ref, prefix)?.name.slice(prefix.length);
  if (version === undefined) return [];
  if (ref.startsWith(TAGS)) return [ref];
  const refs = refPrefixes(version).filter((name) => name.startsWith(TAGS));
  return refs.map((name) => `${TAGS}${prefix}${name.slice(TAGS.length)}`);
}

/**
 * Full hashes that need no query: the one in the spec, which the agents fetch and report on, and one that was found
 * when it was requested.
 */
export function pinnedHashes({ edit, kept }: Pick<Intents, 'edit' | 'kept'>): Map<string, string> {
  const hashes = [edit.target.ref, kept?.target.ref ?? ''].filter(isCommitHash);
  return new Map(hashes.map((hash) => [hash, hash]));
}
