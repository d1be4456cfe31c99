import picomatch from 'picomatch';
import type { ResolvedRef } from './resolve-ref.ts';

/** What decides whether a webhook may ask for a ref. */
export interface RefPolicy {
  /** `spec.webhook.allowedRefs`. */
  allowedRefs: readonly string[];
  /** Full names of the refs that are followed without a request: that of spec.git.ref, and of the target. */
  trackedRefs: readonly string[];
}

/** Whether a ref, by its full or short name or as it was asked for, matches one of the globs. */
export function matchesAllowedRefs(allowedRefs: readonly string[], ...names: string[]): boolean {
  if (allowedRefs.length === 0) return false;
  const matches = picomatch([...allowedRefs], { dot: true });
  return names.some((name) => matches(name) || matches(name.replace(/^refs\/(?:heads|tags)\//, '')));
}

/**
 * Whether a request may move the gateways to what it resolved to. Without `allowedRefs` that is any tag, and what is
 * followed anyway; with them, what matches. Names such as `refs/pull/1/head` and bare commits always need a match:
 * hosts serve commits of forks under them.
 */
export function mayFollow(asked: string, { qualifiedRef }: ResolvedRef, policy: RefPolicy): boolean {
  if (policy.trackedRefs.includes(qualifiedRef)) return true;
  if (policy.allowedRefs.length > 0) return matchesAllowedRefs(policy.allowedRefs, qualifiedRef, asked);
  return qualifiedRef.startsWith('refs/tags/');
}
