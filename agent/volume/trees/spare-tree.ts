import { randomUUID } from 'node:crypto';
import { renameSync } from 'node:fs';
import { Pacer } from '../../../shared/io/pacer.ts';
import type { Directory } from '../../disk/directory.ts';
import { statOf } from '../../disk/seen-file.ts';

/** Prefix of directories in `building` that contain second names of a current tree's files. */
const SPARE = 'spare-';

/** A process that has lost the volume can still be writing to its spares, so others don't publish these. */
const OWN = `${SPARE}${randomUUID().slice(0, 8)}`;

/** Returns the name of this process's spare of a tree. */
export const spareOf = (tree: string): string => `${OWN}-${tree}`;

/** Checks whether it is the name of a spare. Only its own second names are in there, so it can be removed at any time. */
export const isSpare = (name: string): boolean => name.startsWith(SPARE);

/** Renames the spare of a tree to that of a new tree, which then has most files already; returns whether there was one. */
export function takeSpare(building: Directory, tree: string, name: string): boolean {
  if (!statOf(building.at(spareOf(tree)))?.isDirectory()) return false;
  renameSync(building.at(spareOf(tree)), building.at(name));
  return true;
}

interface Wanted {
  files: ReadonlySet<string>;
  directories: ReadonlySet<string>;
}

/** Removes all other entries from a tree that isn't published, by their paths in it. */
export async function trimTree(top: Directory, wanted: Wanted): Promise<void> {
  const pacer = new Pacer();
  const trim = async (directory: Directory, above: string) => {
    for (const name of directory.list()) {
      const path = `${above}${name}`;
      if (wanted.files.has(path)) continue;
      if (directory.unlinkUnlessDirectory(name)) continue;
      {
        using below = directory.open(name);
        await trim(below, `${path}/`);
      }
      if (!wanted.directories.has(path)) directory.removeDirectory(name);
      if (pacer.isDue) await pacer.rest();
    }
  };
  await trim(top, '');
}
