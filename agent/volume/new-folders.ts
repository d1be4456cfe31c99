import { type Stats, statSync } from 'node:fs';
import type { DataRoot } from './data-root.ts';
import type { Folder } from './folder.ts';
import { newFolderName } from './set-aside.ts';
import { split } from './undo-moves.ts';

/** A folder that nothing has the place of: it is built in the staging folder, with everything in it. */
export interface NewFolder {
  path: string;
  /** Its name in the staging folder. */
  staged: string;
  /** What comes with it: itself and all folders below it, the outer ones first. */
  folders: string[];
}

/** A file that is written before it comes to its place. */
export interface Staged {
  path: string;
  /** Its name in the staging folder, while it is in none of the new ones. */
  name: string;
}

/**
 * New folders with their files, in the staging folder. What is in them is reached through open folders alone, one at a
 * time, since a gateway may put a link in the place of each.
 */
export class NewFolders {
  readonly all: NewFolder[] = [];
  readonly #root: DataRoot;
  readonly #by = new Map<string, NewFolder>();
  #open: { path: string; folder: Folder } | undefined;

  /** `folders` are made by a sync, the outer ones first. */
  constructor(root: DataRoot, folders: string[]) {
    this.#root = root;
    const isNew = new Set(folders);
    for (const path of folders) {
      const [parent] = split(path);
      const above = this.#by.get(parent);
      if (above) above.folders.push(path);
      else if (isNew.has(parent) || !this.#canMoveTo(parent)) continue;
      const own = above ?? { path, staged: newFolderName(this.all.length), folders: [path] };
      this.#by.set(path, own);
      if (!above) this.all.push(own);
    }
  }

  /** The new folder that a file comes with. */
  of(path: string): NewFolder | undefined {
    return this.#by.get(split(path)[0]);
  }

  /** Makes them all, with these permissions or those of every new folder. */
  make(permissions: number | undefined): void {
    for (const { staged, folders } of this.all) {
      this.#root.staging.folder.make(staged);
      for (const path of folders) {
        const [parent, name] = split(path);
        if (path !== folders[0]) this.#folder(parent).make(name);
        if (permissions === undefined) continue;
        const folder = this.#folder(path);
        folder.chmod((folder.mode & 0o7000) | permissions); // setgid stays
      }
    }
  }

  /** The path of a file on its way, until the next call. */
  at({ path, name }: Staged): string {
    if (!this.of(path)) return this.#root.staging.at(name);
    const [parent, own] = split(path);
    return this.#folder(parent).at(own);
  }

  /** Opens one of them as it is now, to be closed. */
  open({ staged }: NewFolder): Folder {
    return this.#root.staging.folder.open(staged);
  }

  /** Lets go of the folder that was last worked in. */
  close(): void {
    this.#open?.folder.close();
    this.#open = undefined;
  }

  #folder(path: string): Folder {
    if (this.#open?.path === path) return this.#open.folder;
    this.close();
    const folder = this.#openFolder(path);
    this.#open = { path, folder };
    return folder;
  }

  #openFolder(path: string): Folder {
    const own = this.#by.get(path);
    if (!own) throw new Error(`${path} is no new folder`);
    return this.#root.staging.folder.openBelow(own.staged + path.slice(own.path.length));
  }

  /** Whether a folder would be the same if it was made there: of the same group, on the same file system. */
  #canMoveTo(parent: string): boolean {
    const there = this.#root.lookInside(parent === '' ? '.' : `${parent}/.`, (path) => statSync(path));
    return there !== undefined && isAlike(there, statSync(this.#root.staging.path));
  }
}

const SETGID = 0o2000;

/** Whether what is made in one gets the group that it would get in the other. */
function isAlike(a: Stats, b: Stats): boolean {
  const [hasGroup, hasSame] = [(a.mode & SETGID) !== 0, (b.mode & SETGID) !== 0];
  return a.dev === b.dev && hasGroup === hasSame && (!hasGroup || a.gid === b.gid);
}
