import { compileGlob, compileGlobForDirectories } from '../../shared/domain/glob.ts';
import { withoutTrailingSlashes } from '../../shared/domain/relative-path.ts';

interface Rule {
  matches: (path: string) => boolean;
  /** Which of the folders that a path lies in it matches, the outermost first. */
  matchesFolders: (path: string) => boolean[];
  /** `!pattern` takes back what an earlier pattern excluded. */
  excludes: boolean;
  foldersOnly: boolean;
}

/** A longer path no program can open: of that only folders count that end within so many characters. */
const MAX_LENGTH = 4096;

/**
 * Compiles gitignore-like patterns, relative to the repository's root, into a test of file paths (gitignore(5)): the
 * last pattern that fits decides, `/` anywhere but at the end ties a pattern to the root, `x/` means folders only, and
 * what lies in an excluded folder is excluded. Its time is in proportion to the path, however many folders that has.
 */
export function excludeFilter(patterns: string[]): (path: string) => boolean {
  const rules = patterns.flatMap((pattern) => compile(pattern.trim()) ?? []);
  const folders = new Map<string, boolean>();
  const isFileExcluded = (path: string): boolean =>
    rules.findLast((rule) => !rule.foldersOnly && rule.matches(path))?.excludes ?? false;
  const isFolderExcluded = (folder: string): boolean => {
    const known = folders.get(folder);
    if (known !== undefined) return known;
    const matched = rules.map((rule) => rule.matchesFolders(`${folder}/`));
    const isExcluded = (_: boolean, index: number) =>
      rules.findLast((_, rule) => matched[rule]?.[index])?.excludes ?? false;
    const excluded = matched[0]?.some(isExcluded) ?? false;
    folders.set(folder, excluded);
    return excluded;
  };
  return (path) => {
    if (rules.length === 0) return false;
    const end = path.lastIndexOf('/', MAX_LENGTH);
    if (end > 0 && isFolderExcluded(path.slice(0, end))) return true;
    return path.length <= MAX_LENGTH && isFileExcluded(path);
  };
}

function compile(pattern: string): Rule | undefined {
  const excludes = !pattern.startsWith('!');
  const body = excludes ? pattern : pattern.slice(1);
  const foldersOnly = body.endsWith('/');
  const path = withoutTrailingSlashes(body);
  const glob = path.replace(/^\.?\/+/, '');
  if (glob === '') return undefined;
  const matches = compileGlob(glob);
  if (path.includes('/')) return { matches, matchesFolders: compileGlobForDirectories(glob), excludes, foldersOnly };
  return {
    matches: (at) => matches(at.slice(at.lastIndexOf('/') + 1)),
    matchesFolders: (at) => at.split('/').slice(0, -1).map(matches),
    excludes,
    foldersOnly,
  };
}
