import type { Manifest } from '../plan/manifest.ts';
import type { LiveRoot } from '../plan/plan-input.ts';
import { type DataRoot, unlessAbsent } from './data-root.ts';
import { split } from './move.ts';
import { listBelow } from './scan-tree.ts';
import { statOf } from './seen-file.ts';
import { linkedTree } from './tree-link.ts';

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

async function scanRoot(root: DataRoot, path: string, manifest: Manifest): Promise<LiveRoot> {
  const tree = linkedTree(root, path);
  if (tree !== undefined) return { kind: 'link', tree };
  const [parent, name] = split(path);
  const stats = unlessAbsent(() => {
    using directory = root.openDirectory(parent);
    return statOf(directory.at(name));
  });
  if (!stats) return { kind: 'absent' };
  if (!stats.isDirectory()) return { kind: 'other' };
  // A directory in the place of a link: what the manifest lists is in the tree.
  if (manifest.trees.has(path)) return { kind: 'directory', foreign: path, isOwned: false };
  const { files, directories, trees } = manifest;
  const isOurs = (each: string) => files.has(each) || directories.has(each) || trees.has(each);
  const foreign = (await listBelow(root, path, manifest)).find((each) => !isOurs(each));
  const isOwned = directories.has(path) || [...files.keys()].some((each) => each.startsWith(`${path}/`));
  return { kind: 'directory', foreign, isOwned };
}
