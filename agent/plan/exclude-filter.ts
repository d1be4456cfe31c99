import { compileGlob } from '../../shared/domain/glob.ts';
import { foldersOf, withoutTrailingSlashes } from '../../shared/domain/relative-path.ts';

interface Rule {
  matches: (path: string) => boolean;
  /** `!pattern` takes back what an earlier pattern excluded. */
  excludes: boolean;
  foldersOnly: boolean;
}

/**
 * Compiles gitignore-like patterns, relative to the repository's root, into a test of file paths (gitignore(5)): the
 * last pattern that fits decides, `/` anywhere but at the end ties a pattern to the root, `x/` means folders only, and
 * what lies in an excluded folder is excluded.
 */
export function excludeFilter(patterns: string[]): (path: string) => boolean {
  const rules = patterns.flatMap((pattern) => compile(pattern.trim()) ?? []);
  const folders = new Map<string, boolean>();
  const judge = (path: string, isFolder: boolean): boolean =>
    rules.findLast((rule) => (isFolder || !rule.foldersOnly) && rule.matches(path))?.excludes ?? false;
  const isFolderExcluded = (folder: string): boolean => {
    const known = folders.get(folder);
    if (known !== undefined) return known;
    const excluded = judge(folder, true);
    folders.set(folder, excluded);
    return excluded;
  };
  return (path) => rules.length > 0 && (foldersOf(path).some(isFolderExcluded) || judge(path, false));
}

function compile(pattern: string): Rule | undefined {
  const excludes = !pattern.startsWith('!');
  const body = excludes ? pattern : pattern.slice(1);
  const foldersOnly = body.endsWith('/');
  const path = withoutTrailingSlashes(body);
  const glob = path.replace(/^\.?\/+/, '');
  if (glob === '') return undefined;
  const isMatch = compileGlob(glob);
  const matches = path.includes('/') ? isMatch : (at: string) => isMatch(at.slice(at.lastIndexOf('/') + 1));
  return { matches, excludes, foldersOnly };
}
