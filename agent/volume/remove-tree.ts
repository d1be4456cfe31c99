import { Pacer } from '../../shared/io/pacer.ts';
import type { Folder } from './folder.ts';

/** The agent makes none that is deeper. What somebody else made is not followed any further: a folder is open for each. */
const MAX_DEPTH = 130;

/** Removes a folder of the agent's own with everything in it, as far as it can be: no link is followed. */
export async function removeTree(parent: Folder, name: string, pacer = new Pacer(), depth = 1): Promise<void> {
  if (depth > MAX_DEPTH || parent.unlinkUnlessFolder(name)) return;
  const folder = parent.open(name);
  try {
    for (const entry of folder.list()) {
      if (!folder.unlinkUnlessFolder(entry)) await removeTree(folder, entry, pacer, depth + 1);
      if (pacer.isDue) await pacer.rest();
    }
  } finally {
    folder.close();
  }
  parent.removeFolder(name);
}
