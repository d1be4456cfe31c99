import { lstatSync, renameSync } from 'node:fs';
import type { Plan } from '../plan/plan-changes.ts';
import type { Folder } from './folder.ts';
import { newFolderName } from './set-aside.ts';
import type { Staging } from './staging.ts';
import { split } from './undo-moves.ts';

/** From so many files on it is cheaper to move their folder than to link each of them and remove its first name. */
const WORTH = 4;

/** A file system that cannot move a folder, or not over an empty one; or a folder in which somebody put something. */
const NOT_AS_A_WHOLE = [
  ...['EPERM', 'EACCES', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'EBUSY', 'EMLINK'],
  ...['EEXIST', 'ENOTEMPTY'],
];

/**
 * Where the files of a plan lie in the staging folder: those of a folder that is new in a folder there, under the names
 * that they will have, so that they come into place together; any other under its number.
 */
export class StagedPlaces {
  readonly #staging: Staging;
  readonly #permissions: number | undefined;
  /** The numbers of folders that come into place as a whole, by their paths. */
  readonly #whole: ReadonlyMap<string, number>;
  #open: { number: number; folder: Folder } | undefined;

  /** `permissions` are those of new folders; left out, the usual ones. */
  constructor(staging: Staging, plan: Plan, permissions: number | undefined) {
    this.#staging = staging;
    this.#permissions = permissions;
    this.#whole = wholeFolders(plan);
  }

  /** The path of a file, which is valid until the next is asked for; its folder is made if need be. */
  at(path: string, index: number): string {
    const [parent, name] = this.#whole.size > 0 ? split(path) : ['', ''];
    const number = this.#whole.get(parent);
    return number === undefined ? this.#staging.at(`${index}`) : this.#folder(number).at(name);
  }

  /** Tells those whose paths come into place with the folder they lie in, by that folder, from the others. */
  divide<T>(all: T[], pathOf: (one: T) => string): [inside: Map<string, T[]>, others: T[]] {
    const inside = new Map<string, T[]>(Array.from(this.#whole.keys(), (folder) => [folder, []]));
    const others = all.filter((one) => {
      const group = inside.get(split(pathOf(one))[0]);
      group?.push(one);
      return !group;
    });
    return [inside, others];
  }

  /**
   * Moves what is staged for a folder over the empty one at the target, which the agent has just made: a name is taken
   * exclusively by making a folder, and not by moving one. Gives false, and changes nothing, where that is impossible,
   * or would make another folder of it than a new one is there.
   */
  moveWhole(folder: string, target: string): boolean {
    const source = this.#staging.at(newFolderName(this.#whole.get(folder) ?? Number.NaN));
    const [staged, made] = [source, target].map((path) => lstatSync(path, { throwIfNoEntry: false }));
    if (!staged || !made || staged.mode !== made.mode || staged.uid !== made.uid || staged.gid !== made.gid)
      return false;
    try {
      renameSync(source, target);
      return true;
    } catch (error) {
      if (NOT_AS_A_WHOLE.includes((error as NodeJS.ErrnoException).code ?? '')) return false;
      throw error;
    }
  }

  /** Lets go of the folder that was last used. */
  close(): void {
    this.#open?.folder.close();
    this.#open = undefined;
  }

  #folder(number: number): Folder {
    if (this.#open?.number === number) return this.#open.folder;
    this.close();
    const folder = this.#staging.openFolder(newFolderName(number), this.#permissions);
    this.#open = { number, folder };
    return folder;
  }
}

/** The folders to be made in which enough files lie, and nothing comes from elsewhere. */
function wholeFolders({ changes, folders }: Plan): Map<string, number> {
  const counts = new Map(folders.create.map((folder) => [folder, 0]));
  for (const { kind, path } of counts.size > 0 ? changes : []) {
    const [parent] = split(path);
    const count = counts.get(parent);
    if (count !== undefined) counts.set(parent, kind === 'add' ? count + 1 : Number.NEGATIVE_INFINITY);
  }
  const whole = [...counts].filter(([, count]) => count >= WORTH);
  return new Map(whole.map(([folder], index) => [folder, index]));
}
