import { directoriesOf } from '../../../../agent/plan/directories.ts';

/** Removes entries whose path needs another one as a directory. */
export function withoutOverlaps<T>(tree: Record<string, T>): Record<string, T> {
  const entries = Object.entries(tree);
  return Object.fromEntries(entries.filter(([path]) => !directoriesOf(path).some((directory) => directory in tree)));
}
