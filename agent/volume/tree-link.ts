import { renameSync, symlinkSync } from 'node:fs';
import * as v from 'valibot';
import type { Manifest } from '../plan/manifest.ts';
import { keptName } from './checked-lines.ts';
import { type DataRoot, TREES, unlessAbsent } from './data-root.ts';
import type { Directory } from './directory.ts';
import { split } from './move.ts';
import { linkText } from './state-links.ts';

/** Returns the target of a link at a path: relative, so that it leads to the tree wherever the volume is mounted. */
export const linkTarget = (root: DataRoot, path: string, tree: string): string =>
  root.pathFrom(split(path)[0], `${TREES}/${tree}`);

/** Returns the name of the tree that an entry links to; undefined if it isn't such a link of the agent. */
export function treeAt(root: DataRoot, directory: Directory, path: string): string | undefined {
  const target = linkText(directory.at(split(path)[1])) ?? '';
  const tree = target.slice(target.lastIndexOf('/') + 1);
  return v.is(keptName, tree) && target === linkTarget(root, path, tree) ? tree : undefined;
}

/**
 * Does the same for a path of the data volume; undefined also if its directory is missing or behind a link. Includes a
 * link that {@link relink} will replace, because a dry run replaces none.
 */
export function linkedTree(root: DataRoot, path: string): string | undefined {
  return unlessAbsent(() => {
    const [parent, name] = split(path);
    using directory = root.openDirectory(parent);
    const recorded = root.trees.get(path)?.tree;
    if (recorded !== undefined && isLinkTo(recorded, linkText(directory.at(name)))) return recorded;
    return treeAt(root, directory, path);
  });
}

/** Checks whether a link leads to a tree in the agent's directory, or did so before the directory was moved. */
const isLinkTo = (tree: string, text: string | undefined): boolean => text?.endsWith(`/${TREES}/${tree}`) ?? false;

/** Leads links to the trees of the manifest again, after the agent's directory was moved. */
export function relink(root: DataRoot, trees: Manifest['trees']): void {
  for (const [path, { tree }] of trees) {
    unlessAbsent(() => {
      const [parent, name] = split(path);
      using directory = root.openDirectory(parent);
      const target = linkTarget(root, path, tree);
      const text = linkText(directory.at(name));
      if (text === target || !isLinkTo(tree, text)) return;
      using staging = root.openAgentDirectory('staging');
      staging.unlink(tree);
      symlinkSync(target, staging.at(tree));
      renameSync(staging.at(tree), directory.at(name));
    });
  }
}
