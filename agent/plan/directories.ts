/** The parent directories of a path, the outermost first, without the root. */
export const directoriesOf = (path: string): string[] => directoriesAfter('', path);

/** The parent directories of a path that aren't parents of the previous path of a list; cheap if there are few. */
export function directoriesAfter(previous: string, path: string): string[] {
  const directories: string[] = [];
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
    // V8 compares whole strings a hundred times faster than their starts or characters.
    if (previous.slice(0, at + 1) === path.slice(0, at + 1)) break;
    directories.push(path.slice(0, at));
  }
  return directories.reverse();
}

/** All parent directories of the paths, outer ones first; cheap if many paths share a directory. */
export function allDirectories(paths: Iterable<string>): Set<string> {
  const parents = new Set<string>();
  const directories = new Set<string>();
  for (const path of paths) {
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    if (parents.has(parent)) continue;
    parents.add(parent);
    for (const directory of directoriesOf(path)) directories.add(directory);
  }
  return new Set([...directories].sort());
}
