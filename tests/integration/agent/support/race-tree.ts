import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The files of a commit. Most exist in each, some turn into directories and back, and each content names path and
 * commit.
 */
export function treeOf(commit: string): Record<string, string> {
  const [a = 0, b = 0] = createHash('sha1').update(commit).digest();
  const names = Array.from({ length: 24 }, (_, i) => {
    if (i % 6 === a % 6) return `f${i}`;
    if (i % 6 === b % 6) return `f${i}/inner`;
    return `d${i % 3}/f${i}`;
  });
  return Object.fromEntries(names.map((name) => [name, contentOf(name, commit)]));
}

/** Long enough to show where one was written over another. */
const contentOf = (name: string, commit: string): string => `${name} of ${commit}\n`.repeat(40 + (commit.length % 7));

/** The commit that a file is of, if it is of exactly one. */
export function commitOf(name: string, content: string): string | undefined {
  const commit = new RegExp(`^${name} of (\\S+)\n`).exec(content)?.[1];
  return commit && contentOf(name, commit) === content ? commit : undefined;
}

/** Destination with `publish: atomic`. */
export const ATOMIC = 'at/tree';

/** Files that are the same in each commit, so each tree has them from the previous one. */
const SAME = Object.fromEntries(['d1/s0', 'd1/s1', 'same/s2'].map((name) => [name, `${name} of each commit`]));

/** The files of a commit in an atomic directory. */
export const atomicTreeOf = (commit: string): Record<string, string> => ({ ...treeOf(commit), ...SAME });

/** Returns the commits that files of an atomic directory are of. Throws for a file that is of none. */
export function commitsOf(files: Record<string, string>): Set<string> {
  const commits = new Set<string>();
  for (const [name, text] of Object.entries(files)) {
    const commit = commitOf(name, text);
    if (commit !== undefined) commits.add(commit);
    else if (SAME[name] !== text) throw new Error(`${name} is of no commit: ${text.slice(0, 200)}`);
  }
  return commits;
}

/** Reads all files of an atomic directory after resolving its link once. It can be removed at the same time. */
export function readTree(data: string): Record<string, string> {
  const files: Record<string, string> = {};
  const read = <T>(look: () => T): T | undefined => {
    try {
      return look();
    } catch (error) {
      // EINVAL: realpath found a link, and read it after it was replaced.
      if (['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? ''))
        return undefined;
      throw error;
    }
  };
  const tree = read(() => realpathSync(join(data, ATOMIC)));
  const below = (directory: string) => {
    for (const entry of read(() => readdirSync(join(tree ?? '', directory), { withFileTypes: true })) ?? []) {
      const name = join(directory, entry.name);
      if (entry.isDirectory()) below(name);
      const text = entry.isFile() ? read(() => readFileSync(join(tree ?? '', name), 'utf8')) : undefined;
      if (text !== undefined) files[name] = text;
    }
  };
  if (tree !== undefined) below('');
  return files;
}
