const emptyOrDots = /(?:^|\/)\.{0,2}(?:\/|$)/;

/** Whether a normal path is one that a file can have: no empty, `.` or `..` part, no NUL. Git trees may hold others. */
export function isFilePath(path: string): boolean {
  return !path.includes('\0') && !emptyOrDots.test(path);
}

/** Whether `path` is `folder` or lies below it; `''` is the root. */
export function isWithin(path: string, folder: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`);
}

/** The folders that a path lies in, the outermost first, without the root. */
export function foldersOf(path: string): string[] {
  const folders: string[] = [];
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) folders.push(path.slice(0, at));
  return folders;
}

/** All folders that any of the paths lies in, each before those inside it; cheap where many paths share a folder. */
export function allFolders(paths: Iterable<string>): Set<string> {
  const parents = new Set<string>();
  const folders = new Set<string>();
  for (const path of paths) {
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    if (parents.has(parent)) continue;
    parents.add(parent);
    for (const folder of foldersOf(path)) folders.add(folder);
  }
  return new Set([...folders].sort());
}

/** One path after another; the root adds nothing. */
export function joinPath(folder: string, path: string): string {
  return folder === '' ? path : path === '' ? folder : `${folder}/${path}`;
}
