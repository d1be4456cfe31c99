import { BOUNDS } from '../../shared/api/bounds.ts';
import { compileGlob } from '../../shared/domain/glob.ts';

/** Characters of a full name whose short name may be followed. */
const MAX_NAME = BOUNDS.ref + 'refs/heads/'.length;
/**
 * Characters of globs times characters of names: some 60 ms at worst. As much as four names of the greatest length with
 * the longest globs, or a thousand names of usual length with ten usual globs.
 */
const MOST_STEPS = 8 * BOUNDS.allowedRefs * MAX_NAME;

/**
 * Whether a ref, by its full or short name, matches one of the globs. The globs are a tenant's and the names a host's, so
 * their product is bounded: `undecided` where there are more names than can be held against these globs.
 */
export function matchAllowedRefs(globs: readonly string[], names: Iterable<string>): 'yes' | 'no' | 'undecided' {
  const tests = globs.map(compileGlob);
  const charactersOfGlobs = globs.reduce((sum, glob) => sum + glob.length, 0);
  let steps = 0;
  for (const name of names) {
    if (!isFollowable(name)) continue;
    if (steps >= MOST_STEPS) return 'undecided';
    for (const spelling of new Set([name, shortNameOf(name)])) {
      steps += charactersOfGlobs * spelling.length;
      if (tests.some((isMatch) => isMatch(spelling))) return 'yes';
    }
  }
  return 'no';
}

/** Whether a name that a host gave is short enough to be that of a ref here. */
export const isFollowable = (name: string): boolean => name.length <= MAX_NAME;

const shortNameOf = (name: string): string => name.replace(/^refs\/(?:heads|tags)\//, '');
