import { lstatSync, readlinkSync } from 'node:fs';
import * as v from 'valibot';
import { AGENT_DIRECTORY } from '../../shared/api/names.ts';
import { keptName } from './checked-lines.ts';
import { type DataRoot, TREES, unlessAbsent } from './data-root.ts';
import type { Directory } from './directory.ts';
import { split } from './move.ts';

/** Returns the target of a link at a path: relative, so that it leads to the tree wherever the volume is mounted. */
export const linkTarget = (path: string, tree: string): string =>
  `${'../'.repeat(path.split('/').length - 1)}${AGENT_DIRECTORY}/${TREES}/${tree}`;

/** Returns the name of the tree that an entry links to; undefined if it isn't such a link of the agent. */
export function treeAt(directory: Directory, path: string): string | undefined {
  const [, name] = split(path);
  if (!lstatSync(directory.at(name), { throwIfNoEntry: false })?.isSymbolicLink()) return undefined;
  const target = readlinkSync(directory.at(name));
  const tree = target.slice(target.lastIndexOf('/') + 1);
  return target === linkTarget(path, tree) && v.is(keptName, tree) ? tree : undefined;
}

/** Does the same for a path of the data volume; undefined also if its directory is missing or behind a link. */
export function linkedTree(root: DataRoot, path: string): string | undefined {
  return unlessAbsent(() => {
    using directory = root.openDirectory(split(path)[0]);
    return treeAt(directory, path);
  });
}
