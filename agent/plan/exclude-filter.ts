import { compileGlob, compileGlobForDirectories } from '../../shared/domain/files/glob.ts';
import { withoutTrailingSlashes } from '../../shared/domain/files/relative-path.ts';

interface Rule {
  matches: (path: string) => boolean;
  /** Returns for each directory above a path whether the rule matches it, the outermost first. */
  matchesDirectories: (path: string) => boolean[];
  /** `!pattern` re-includes files that an earlier pattern excluded. */
  excludes: boolean;
  directoriesOnly: boolean;
}

/** Maximum length of a path (PATH_MAX). For longer ones, only the directories within this length are matched. */
const MAX_LENGTH = 4096;

/**
 * Compiles gitignore-like patterns, relative to the repository's root, into a test of file paths (gitignore(5)). The
 * last match decides, `/` before the end anchors a pattern to the root, `x/` matches directories only, and everything
 * in an excluded directory is excluded. The time is proportional to the path's length, for any number of directories.
 */
export function excludeFilter(patterns: string[]): (path: string) => boolean {
  const rules = patterns.flatMap((pattern) => compile(pattern.trim()) ?? []);
  const directories = new Map<string, boolean>();
  const isFileExcluded = (path: string): boolean =>
    rules.findLast((rule) => !rule.directoriesOnly && rule.matches(path))?.excludes ?? false;
  const isDirectoryExcluded = (directory: string): boolean => {
    const known = directories.get(directory);
    if (known !== undefined) return known;
    const matched = rules.map((rule) => rule.matchesDirectories(`${directory}/`));
    const isExcluded = (_: boolean, index: number) =>
      rules.findLast((_, rule) => matched[rule]?.[index])?.excludes ?? false;
    const excluded = matched[0]?.some(isExcluded) ?? false;
    directories.set(directory, excluded);
    return excluded;
  };
  return (path) => {
    if (rules.length === 0) return false;
    const end = path.lastIndexOf('/', MAX_LENGTH);
    if (end > 0 && isDirectoryExcluded(path.slice(0, end))) return true;
    return path.length <= MAX_LENGTH && isFileExcluded(path);
  };
}

function compile(pattern: string): Rule | undefined {
  const excludes = !pattern.startsWith('!');
  const body = excludes ? pattern : pattern.slice(1);
  const directoriesOnly = body.endsWith('/');
  const path = withoutTrailingSlashes(body);
  const glob = path.replace(/^\.?\/+/, '');
  if (glob === '') return undefined;
  const matches = compileGlob(glob);
  if (path.includes('/'))
    return { matches, matchesDirectories: compileGlobForDirectories(glob), excludes, directoriesOnly };
  return {
    matches: (at) => matches(at.slice(at.lastIndexOf('/') + 1)),
    matchesDirectories: (at) => at.split('/').slice(0, -1).map(matches),
    excludes,
    directoriesOnly,
  };
}
