import { createHash } from 'node:crypto';

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
