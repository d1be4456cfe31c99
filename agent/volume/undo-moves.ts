import { randomUUID } from 'node:crypto';
import { lstatSync, renameSync, type Stats } from 'node:fs';
import { Pacer } from '../../shared/io/pacer.ts';
import type { DataRoot } from './data-root.ts';
import type { Folder } from './folder.ts';
import type { Journal } from './journal.ts';
import { type FileMove, type Move, type Seen, split } from './move.ts';
import { putNew, tryLink } from './put-new.ts';
import { isSameFile, isSeen, statOf } from './seen-file.ts';
import { type Stores, tryAt, withStores } from './stores.ts';

/**
 * Undoes the moves of a sync that failed or was cut off, whether or not each was made: what is there tells. What is
 * neither the file that left nor the one that came belongs to others, and stays. Tries all of them, then throws the
 * first error; another attempt goes on. Returns the paths that the agent had given up and others have taken by now.
 */
export async function undoMoves(journal: Journal, root: DataRoot): Promise<string[]> {
  const pacer = new Pacer();
  const errors: unknown[] = [];
  const taken: string[] = [];
  await withStores(root, async (stores, held) => {
    const undo = new Undo(stores, journal.hasSameInodes, root.traits?.keepsModes ?? true);
    for await (const move of journal.moves()) {
      try {
        const [parent, name] = split(move.path);
        const folder = tryAt(held, parent);
        if (folder && (await undo.move(move, folder, name)) === 'taken') taken.push(move.path);
      } catch (error) {
        errors.push(error);
      }
      if (pacer.isDue) await pacer.rest();
    }
  });
  if (errors.length > 0) throw errors[0];
  return taken;
}

/** `taken`: others put a file where the agent had removed its own. */
type Undone = 'taken' | undefined;

class Undo {
  readonly #stores: Stores;
  readonly #hasSameInodes: boolean;
  readonly #keepsModes: boolean;

  constructor(stores: Stores, hasSameInodes: boolean, keepsModes: boolean) {
    this.#stores = stores;
    this.#hasSameInodes = hasSameInodes;
    this.#keepsModes = keepsModes;
  }

  async move(move: Move, folder: Folder, name: string): Promise<Undone> {
    if (move.kind === 'file') return await this.#file(move, folder, name);
    if (move.kind === 'makeFolder') folder.removeFolder(name);
    else if (folder.make(name)) folder.permitBelow(name, move.mode);
    return undefined;
  }

  async #file(move: FileMove, folder: Folder, name: string): Promise<Undone> {
    const { saved } = this.#stores;
    const { comes, comesFrom, number } = move;
    const target = folder.at(name);
    const spare = saved.at(`${number}`);
    const found = statOf(target);
    if (found && isSameFile(spare, target)) saved.unlink(`${number}`); // a second name of what is in its place
    if (found && comes && (await this.#isVery(target, comes))) {
      this.#withdraw(move, target);
      return undefined;
    }
    const hasSpare = statOf(spare) !== undefined;
    if (found && this.#isPlaceholder(found, hasSpare ? spare : this.#newFileOf(move))) folder.unlink(name);
    if (!hasSpare || (await this.#isWithdrawn(move))) return undefined;
    if (statOf(target)) return comes && comesFrom === undefined ? undefined : 'taken';
    putBack(spare, target);
    if (isSameFile(spare, target)) saved.unlink(`${number}`);
    return undefined;
  }

  /** Takes what came out of its place again, for what left if there is any. */
  #withdraw(move: FileMove, target: string): void {
    const { number, comesFrom } = move;
    const { saved, takenOver } = this.#stores;
    const spare = saved.at(`${number}`);
    const hasSpare = statOf(spare) !== undefined;
    if (comesFrom !== undefined && !statOf(takenOver.at(comesFrom))) {
      renameSync(target, takenOver.at(comesFrom));
      if (hasSpare) putBack(spare, target);
    } else if (hasSpare) renameSync(spare, target);
    // What takes its place this very moment is recognized there, and kept.
    else if (changesContent(move)) renameSync(target, spare);
  }

  /** Checks whether the saved file is the one that came, withdrawn by an earlier attempt to undo. */
  async #isWithdrawn(move: FileMove): Promise<boolean> {
    const { number, comes } = move;
    return comes !== undefined && changesContent(move) && (await isSeen(this.#stores.saved.at(`${number}`), comes));
  }

  /**
   * Checks whether an entry is the very one that was seen. If inodes tell files apart, equal content isn't enough: the
   * time has to be the same as well, because FUSE may number the journal as before by chance.
   */
  async #isVery(path: string, seen: Seen): Promise<boolean> {
    const { ino, mtimeMs } = lstatSync(path);
    const isOther = seen !== 'other' && this.#hasSameInodes && ino !== seen.ino && mtimeMs !== seen.mtimeMs;
    return !isOther && (await isSeen(path, seen));
  }

  /** What was to come where nothing was. Undefined if something was: that is still there then, or in `saved`. */
  #newFileOf({ number, leaves, comes, comesFrom }: FileMove): string | undefined {
    if (leaves || !comes) return undefined;
    const { staging, takenOver } = this.#stores;
    return comesFrom === undefined ? staging.at(`${number}`) : takenOver.at(comesFrom);
  }

  /** Checks for the empty file that holds a place for the source, which is still there then, and can't be linked. */
  #isPlaceholder(stats: Stats, source: string | undefined): boolean {
    if (!stats.isFile() || stats.size > 0 || (this.#keepsModes && (stats.mode & 0o777) !== 0o600)) return false;
    return source !== undefined && statOf(source) !== undefined && !this.#canLink(source);
  }

  #canLink(source: string): boolean {
    const { staging } = this.#stores;
    const name = randomUUID();
    const isLinked = tryLink(source, staging.at(name));
    if (isLinked) staging.unlink(name);
    return isLinked;
  }
}

/** Checks whether the content tells the file that comes from the one that leaves. */
const changesContent = ({ leaves, comes }: FileMove): boolean =>
  typeof leaves !== 'object' || leaves.sha256 !== comes?.sha256;

/** Puts an entry where nothing is. Without hard links and a free inode to hold the place, a check right before has to do. */
function putBack(source: string, target: string): void {
  if (lstatSync(source).isDirectory()) {
    renameSync(source, target);
    return;
  }
  try {
    putNew(source, target);
  } catch (error) {
    const isFull = ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
    if (!isFull || statOf(target)) throw error;
    renameSync(source, target);
  }
}
