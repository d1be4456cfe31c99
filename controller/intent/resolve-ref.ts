import { isCommitHash } from '../../shared/domain/check-ref-name.ts';

/**
 * Refs that a host advertised, by full name; annotated tags are peeled to their commit. A commit that is known to
 * exist stands there under its own hash.
 */
export type AdvertisedRefs = ReadonlyMap<string, string>;

export interface ResolvedRef {
  commit: string;
  /** Full name of the ref, or the commit hash itself where that was asked for. */
  qualifiedRef: string;
  /** The short name is a tag and a branch at once, at different commits: the tag was taken. */
  ambiguous: boolean;
}

/**
 * What a name stands for among the advertised refs: a full name itself, else the tag, else the branch, else the same
 * with or without a leading `v`. A full hash stands for itself if it is among the refs, and `HEAD` for the host's default
 * branch.
 */
export function resolveRef(name: string, refs: AdvertisedRefs): ResolvedRef | undefined {
  if (isCommitHash(name) || isFullName(name)) {
    const commit = refs.get(name);
    return commit ? { commit, qualifiedRef: name, ambiguous: false } : undefined;
  }
  return resolveShort(name, refs) ?? resolveShort(withOrWithoutV(name), refs);
}

function isFullName(name: string): boolean {
  return name === 'HEAD' || name.startsWith('refs/');
}

function resolveShort(name: string, refs: AdvertisedRefs): ResolvedRef | undefined {
  const candidates = [`refs/tags/${name}`, `refs/heads/${name}`, `refs/${name}`].filter((ref) => refs.has(ref));
  const [qualifiedRef] = candidates;
  if (qualifiedRef === undefined) return undefined;
  const commit = refs.get(qualifiedRef) as string;
  const branch = refs.get(`refs/heads/${name}`);
  return { commit, qualifiedRef, ambiguous: branch !== undefined && branch !== commit };
}

/** Says why HEAD stands for nothing. */
export const noDefaultBranch =
  "the repository has no default branch; it is empty, or HEAD names a branch that doesn't exist";

/** `v1.2` for `1.2`, and the other way round. */
function withOrWithoutV(name: string): string {
  return name.startsWith('v') ? name.slice(1) : `v${name}`;
}

/** Prefixes to ask a host for, so that it sends what {@link resolveRef} needs and little more; none for a hash. */
export function refPrefixes(name: string): string[] {
  if (isCommitHash(name)) return [];
  if (isFullName(name)) return [name];
  return [name, withOrWithoutV(name)].flatMap((short) => [
    `refs/tags/${short}`,
    `refs/heads/${short}`,
    `refs/${short}`,
  ]);
}
