import type { DataRoot } from './data-root.ts';
import type { Folder } from './folder.ts';
import { HeldFolder } from './held-folder.ts';

/** The agent's transit directories, held open. */
export interface Stores {
  /** New content. */
  staging: Folder;
  /** Files that have left their paths, until the sync ends. */
  saved: Folder;
  /** Files of others that were replaced. */
  takenOver: Folder;
}

/** Opens the stores and, one at a time, directories of the data volume, during the work. */
export async function withStores<T>(
  root: DataRoot,
  work: (stores: Stores, held: HeldFolder) => Promise<T>,
): Promise<T> {
  using staging = root.openAgentFolder('staging');
  using saved = root.openAgentFolder('saved');
  using takenOver = root.openAgentFolder('taken-over');
  using held = new HeldFolder((path) => root.openFolder(path));
  return await work({ staging, saved, takenOver }, held);
}

/** Opens a directory; undefined if it is gone, or is a link. */
export function tryAt(held: HeldFolder, path: string): Folder | undefined {
  try {
    return held.at(path);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR', 'data.symbolicLink'].includes(code)) return undefined;
    throw error;
  }
}
