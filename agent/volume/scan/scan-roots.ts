import { splitPath } from '../../../shared/domain/files/relative-path.ts';
import { statOf } from '../../disk/seen-file.ts';
import { allDirectories } from '../../plan/directories.ts';
import type { Manifest } from '../../plan/manifest.ts';
import type { LiveRoot } from '../../plan/plan-input.ts';
import { type DataRoot, unlessAbsent } from '../state/data-root.ts';
import { listBelow } from './scan-tree.ts';
import { linkedTree } from './tree-link.ts';

/** Maximum number of entries of others that are listed: one more than a message names. */
const MAX_FOREIGN = 6;

/** Returns the current entries at destinations of trees. */
export async function scanRoots(
  root: DataRoot,
  paths: Iterable<string>,
  manifest: Manifest,
): Promise<Map<string, LiveRoot>> {
  const live = new Map<string, LiveRoot>();
  for (const path of paths) live.set(path, await scanRoot(root, path, manifest));
  return live;
}

/** Returns the entries at destinations of trees as they were delivered, with those of others that are in them now. */
export async function recordedRoots(
  root: DataRoot,
  paths: Iterable<string>,
  manifest: Manifest,
): Promise<Map<string, LiveRoot>> {
  const live = await scanRoots(root, paths, manifest);
  for (const [path, found] of live) {
    const record = manifest.trees.get(path);
    const foreign = found.kind === 'directory' ? found.foreign : [];
    if (record) live.set(path, { kind: 'link', tree: record.tree });
    else if (ownFilesBelow(path, manifest).size > 0) live.set(path, { kind: 'directory', foreign, isOwned: true });
  }
  return live;
}

async function scanRoot(root: DataRoot, path: string, manifest: Manifest): Promise<LiveRoot> {
  const tree = linkedTree(root, path);
  if (tree !== undefined) return { kind: 'link', tree };
  const [parent, name] = splitPath(path);
  const stats = unlessAbsent(() => {
    using directory = root.openDirectory(parent);
    return statOf(directory.at(name));
  });
  if (!stats) return { kind: 'absent' };
  if (!stats.isDirectory()) return { kind: 'other' };
  // A directory in the place of a link: what the manifest lists is in the tree.
  if (manifest.trees.has(path)) return { kind: 'directory', foreign: [path], isOwned: false };
  const { directories, trees } = manifest;
  const files = ownFilesBelow(path, manifest);
  const above = allDirectories(files);
  const isOwn = (each: string) => {
    if (trees.has(each)) return linkedTree(root, each) !== undefined;
    return files.has(each) || directories.has(each) || above.has(each);
  };
  const all = await listBelow(root, path, { isOwn, maxForeign: MAX_FOREIGN });
  return {
    kind: 'directory',
    foreign: all.filter((each) => !isOwn(each)),
    isOwned: directories.has(path) || files.size > 0,
  };
}

/** Files that the agent wrote. Those that it found belong to others. */
function ownFilesBelow(path: string, { files }: Manifest): Set<string> {
  const own = new Set<string>();
  for (const record of files.values()) if (!record.found && record.path.startsWith(`${path}/`)) own.add(record.path);
  return own;
}
