import type { Directory } from '../../disk/directory.ts';
import { HeldDirectory } from '../../disk/held-directory.ts';
import { unlessCode } from '../../disk/unless-code.ts';
import type { DataRoot } from './data-root.ts';
import { TakenOver } from './taken-over.ts';

/** The agent's transit directories, held open. */
export interface Stores {
  /** New content. */
  staging: Directory;
  /** Files that have left their paths, until the sync ends. */
  saved: Directory;
  /** Files of others that were replaced. */
  takenOver: TakenOver;
}

/** Opens the stores and, one at a time, directories of the data volume, during the work. */
export async function withStores<T>(
  root: DataRoot,
  work: (stores: Stores, held: HeldDirectory) => Promise<T>,
): Promise<T> {
  using staging = root.openAgentDirectory('staging');
  using saved = root.openAgentDirectory('saved');
  using takenOver = new TakenOver(root);
  using held = new HeldDirectory((path) => root.openDirectory(path));
  return await work({ staging, saved, takenOver }, held);
}

/** Opens a directory; undefined if it is gone, or is a link. */
export const tryAt = (held: HeldDirectory, path: string): Directory | undefined =>
  unlessCode(['ENOENT', 'ENOTDIR', 'data.symbolicLink'], () => held.at(path));
