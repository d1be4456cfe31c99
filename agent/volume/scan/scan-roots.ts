import { splitPath } from '../../../shared/domain/files/relative-path.ts';
import { isForbidden } from '../../disk/hash-file.ts';
import { HeldDirectory } from '../../disk/held-directory.ts';
import { isSeen, seenFile, statOf } from '../../disk/seen-file.ts';
import { allDirectories } from '../../plan/directories.ts';
import type { Manifest } from '../../plan/manifest.ts';
import type { LiveRoot } from '../../plan/plan-input.ts';
import { type DataRoot, unlessAbsent } from '../state/data-root.ts';
import { tryAt } from '../state/stores.ts';
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

/**
 * Returns the destinations of trees that others have written to. Their removal moves these files to `taken-over`, so the
 * rules are the same: if only the inode differs, the content decides, and an empty directory of the agent's user doesn't
 * count.
 */
export async function changedTrees(root: DataRoot, { files, trees }: Manifest): Promise<Set<string>> {
  const above = allDirectories(files.keys());
  using held = new HeldDirectory((path) => root.openDirectory(root.pathOnDisk(path)));
  const isWritten = async (path: string, owner: number | undefined) => {
    const [parent, name] = splitPath(path);
    const record = files.get(path);
    const file = tryAt(held, parent)?.at(name);
    const stats = file === undefined ? undefined : statOf(file);
    if (file === undefined || !stats) return !record && !above.has(path);
    if (stats.isDirectory()) return !above.has(path) && stats.uid !== owner;
    return !record || record.found || !(await isSeen(file, seenFile(record)));
  };
  const hasWritten = async (tree: string) => {
    const owner = root.look(tree, statOf)?.uid;
    for (const path of await listBelow(root, tree, { isOwn: () => true }))
      if (await isWritten(path, owner)) return true;
    return false;
  };
  const changed = new Set<string>();
  for (const tree of trees.keys()) {
    // A directory that can't be read can't be removed either.
    const isChanged = await hasWritten(tree).catch((error) => isForbidden(error) || Promise.reject(error));
    if (isChanged) changed.add(tree);
  }
  return changed;
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
