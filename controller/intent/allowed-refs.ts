import { BOUNDS } from '../../shared/api/bounds.ts';
import { compileGlob } from '../../shared/domain/files/glob.ts';

/** Maximum length of a full ref name whose short name can be followed (characters). */
const MAX_NAME = BOUNDS.ref + 'refs/heads/'.length;
/**
 * Limit for characters of globs times characters of names: about 60 ms at worst. It allows four names of the maximum
 * length with the longest globs, or a thousand ordinary names with ten ordinary globs.
 */
const MAX_STEPS = 8 * BOUNDS.allowedRefs * MAX_NAME;

/**
 * Matches refs, by full or short name, with globs. The globs come from a tenant and the names from a server, so their
 * product is limited: `undecided` if there are too many names for these globs.
 */
export function matchAllowedRefs(globs: readonly string[], names: Iterable<string>): 'yes' | 'no' | 'undecided' {
  const tests = globs.map(compileGlob);
  const charactersOfGlobs = globs.reduce((sum, glob) => sum + glob.length, 0);
  let steps = 0;
  for (const name of names) {
    if (!isFollowable(name)) continue;
    if (steps >= MAX_STEPS) return 'undecided';
    for (const spelling of new Set([name, shortNameOf(name)])) {
      steps += charactersOfGlobs * spelling.length;
      if (tests.some((isMatch) => isMatch(spelling))) return 'yes';
    }
  }
  return 'no';
}

/** Whether a name that a server returned is short enough for a ref. */
export const isFollowable = (name: string): boolean => name.length <= MAX_NAME;

const shortNameOf = (name: string): string => name.replace(/^refs\/(?:heads|tags)\//, '');
