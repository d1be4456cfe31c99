import type { Seen, SeenFile } from '../../disk/seen-file.ts';

/** A file appears at a path, leaves it, or both: then one replaces the other. */
export interface FileMove {
  kind: 'file';
  path: string;
  /** Its name in `staging` (new file) and `saved` (previous file). */
  number: number;
  /** The entry that the plan saw there. */
  oldEntry?: Seen;
  newFile?: SeenFile;
  /** Whether the old entry might not be the agent's, so that it is kept. */
  isForeign?: true;
}

/** A link to a tree appears at a destination, leaves it, or both. */
export interface PublishMove {
  kind: 'publish';
  path: string;
  to: 'link' | 'directory' | 'nothing';
  /** Name of the new tree, in `building` before the move; a link's tree is in `trees` after it. */
  tree?: string;
  from: 'absent' | 'link' | 'directory';
  /** Name in `trees` of the previous tree: that of a link, or the one that the previous directory gets. */
  leaves?: string;
  /** Name in `taken-over` that the previous directory gets. */
  displacedTo?: string;
}

/** One step of a sync. A directory is removed only if it is empty. */
export type Move =
  | FileMove
  | PublishMove
  | { kind: 'makeFolder'; path: string }
  | { kind: 'removeFolder'; path: string; mode: number };
