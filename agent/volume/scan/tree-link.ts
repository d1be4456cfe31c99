import * as v from 'valibot';
import { splitPath } from '../../../shared/domain/files/relative-path.ts';
import type { Directory } from '../../disk/directory.ts';
import { treeName } from '../manifest/checked-lines.ts';
import { type DataRoot, TREES, unlessAbsent } from '../state/data-root.ts';
import { linkText } from '../state/state-links.ts';

/** Returns the target of a link at a path: relative, so that it leads to the tree wherever the volume is mounted. */
export const linkTarget = (root: DataRoot, path: string, tree: string): string =>
  root.pathFrom(splitPath(path)[0], `${TREES}/${tree}`);

/** Returns the name of the tree that an entry links to; undefined if it isn't such a link of the agent. */
export function treeAt(root: DataRoot, directory: Directory, path: string): string | undefined {
  const target = linkText(directory.at(splitPath(path)[1])) ?? '';
  const tree = target.slice(target.lastIndexOf('/') + 1);
  return v.is(treeName, tree) && target === linkTarget(root, path, tree) ? tree : undefined;
}

/** Does the same for a path of the data volume; undefined also if its directory is missing or behind a link. */
export function linkedTree(root: DataRoot, path: string): string | undefined {
  return unlessAbsent(() => {
    using directory = root.openDirectory(splitPath(path)[0]);
    return treeAt(root, directory, path);
  });
}
