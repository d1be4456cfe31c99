import { randomUUID } from 'node:crypto';
import { type Stats, statSync } from 'node:fs';
import type { DataRoot } from './data-root.ts';
import { type Folder, type Place, pathOf } from './folder.ts';
import { HeldFolder } from './held-folder.ts';
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
  /** Its name in the staging folder, and part of that in a new one. */
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
  /** No file of a repository can have it by intent, so that none has the name of another while that is on its way. */
  readonly #prefix = `${randomUUID()}-`;
  readonly #held = new HeldFolder((path) => this.#openFolder(path));

  /** `folders` are made by a sync, the outer ones first. */
  constructor(root: DataRoot, folders: string[]) {
    this.#root = root;
    const isNew = new Set(folders);
    const staging = folders.length > 0 ? statSync(root.staging.path) : undefined;
    const canMoveTo = (parent: string) => staging !== undefined && isAlike(staging, this.#statsOf(parent));
    for (const path of folders) {
      const [parent] = split(path);
      const above = this.#by.get(parent);
      if (above) above.folders.push(path);
      else if (isNew.has(parent) || !canMoveTo(parent)) continue;
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
        if (path !== folders[0]) this.#held.at(parent).make(name);
        if (permissions !== undefined) this.#held.at(path).permit(permissions);
      }
    }
  }

  /** Where a file is on its way, under a name without its ending: the folder is open until the next call. */
  placeOf({ path, name }: Staged): Place {
    const [parent] = split(path);
    const isNew = this.#by.has(parent);
    if (!isNew) return { folder: this.#root.staging.folder, name };
    return { folder: this.#held.at(parent), name: this.#prefix + name };
  }

  /** The same as a path, until the next call. */
  at(staged: Staged): string {
    return pathOf(this.placeOf(staged));
  }

  /** Where the file is once it has its name. */
  namedPlaceOf(path: string): Place {
    const [parent, name] = split(path);
    return { folder: this.#held.at(parent), name };
  }

  /** Opens one of them as it is now, to be closed. */
  open({ staged }: NewFolder): Folder {
    return this.#root.staging.folder.open(staged);
  }

  /** Lets go of the folder that was last worked in. */
  close(): void {
    this.#held.close();
  }

  #openFolder(path: string): Folder {
    const own = this.#by.get(path);
    if (!own) throw new Error(`${path} is no new folder`);
    return this.#root.staging.folder.openBelow(own.staged + path.slice(own.path.length));
  }

  #statsOf(folder: string): Stats | undefined {
    return this.#root.lookInside(folder === '' ? '.' : `${folder}/.`, (path) => statSync(path));
  }
}

const SETGID = 0o2000;

/** Whether what is made in one would be the same in the other: of the same group, on the same file system. */
function isAlike(a: Stats, b: Stats | undefined): boolean {
  if (!b) return false;
  const [hasGroup, hasSame] = [(a.mode & SETGID) !== 0, (b.mode & SETGID) !== 0];
  return a.dev === b.dev && hasGroup === hasSame && (!hasGroup || a.gid === b.gid);
}
