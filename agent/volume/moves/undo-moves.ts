import { randomUUID } from 'node:crypto';
import { lstatSync, renameSync, type Stats } from 'node:fs';
import { splitPath } from '../../../shared/domain/files/relative-path.ts';
import { codeOf } from '../../../shared/errors.ts';
import { Pacer } from '../../../shared/io/pacer.ts';
import type { Directory } from '../../disk/directory.ts';
import { putNew, tryLink } from '../../disk/put-new.ts';
import type { Seen } from '../../disk/seen-file.ts';
import { isSameFile, isSeen, statOf } from '../../disk/seen-file.ts';
import { FULL } from '../../disk/unless-code.ts';
import type { Journal } from '../manifest/journal.ts';
import type { FileMove, Move, PublishMove } from '../manifest/move.ts';
import type { DataRoot } from '../state/data-root.ts';
import { type Stores, tryAt, withStores } from '../state/stores.ts';
import { TreePublisher } from '../trees/publish-trees.ts';

/**
 * Undoes the moves of a failed or interrupted sync; the entries show which were made. Entries that are neither the
 * previous nor the new file belong to others, and stay. Tries all moves, then throws the first error; the next attempt
 * continues. Returns the paths that the agent had released and others have taken since.
 */
export async function undoMoves(journal: Journal, root: DataRoot): Promise<string[]> {
  const pacer = new Pacer();
  const errors: unknown[] = [];
  const taken: string[] = [];
  await withStores(root, async (stores, held) => {
    using publisher = new TreePublisher(root, stores);
    const undo = new Undo(stores, journal.hasSameInodes, (root.traits?.keepsModes ?? true) === true);
    for await (const move of journal.moves()) {
      try {
        const [parent, name] = splitPath(move.path);
        const directory = tryAt(held, parent);
        if (move.kind === 'publish') publisher.undo(move, directory);
        else if (directory && (await undo.move(move, directory, name)) === 'taken') taken.push(move.path);
      } catch (error) {
        errors.push(error);
      }
      if (pacer.isDue) await pacer.rest();
    }
  });
  if (errors.length > 0) throw errors[0];
  return taken;
}

/** `taken`: others created a file after the agent removed its own. */
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

  async move(move: Exclude<Move, PublishMove>, directory: Directory, name: string): Promise<Undone> {
    if (move.kind === 'file') return await this.#file(move, directory, name);
    if (move.kind === 'makeFolder') directory.removeDirectory(name);
    else if (directory.make(name)) directory.permitBelow(name, move.mode);
    return undefined;
  }

  async #file(move: FileMove, directory: Directory, name: string): Promise<Undone> {
    const { saved } = this.#stores;
    const { newFile, number } = move;
    const target = directory.at(name);
    const spare = saved.at(`${number}`);
    const found = statOf(target);
    if (found && isSameFile(spare, target)) saved.unlink(`${number}`); // a second name of the file at the target
    if (found && newFile && (await this.#isVery(target, newFile))) {
      this.#withdraw(move, target);
      return undefined;
    }
    const hasSpare = statOf(spare) !== undefined;
    const source = hasSpare ? spare : this.#newFileOf(move);
    if (found && this.#isPlaceholder(found, source)) directory.unlink(name);
    if (!hasSpare || (await this.#isWithdrawn(move))) return undefined;
    if (statOf(target)) return newFile ? undefined : 'taken';
    putBack(spare, target);
    if (isSameFile(spare, target)) saved.unlink(`${number}`);
    return undefined;
  }

  /** Removes the new file, and puts back the previous one if there is any. */
  #withdraw(move: FileMove, target: string): void {
    const spare = this.#stores.saved.at(`${move.number}`);
    if (statOf(spare)) renameSync(spare, target);
    // A file that appears there at this moment is recognized later, and kept.
    else if (changesContent(move)) renameSync(target, spare);
  }

  /** Checks whether the saved file is the new one, withdrawn by an earlier attempt to undo. */
  async #isWithdrawn(move: FileMove): Promise<boolean> {
    const { number, newFile } = move;
    return newFile !== undefined && changesContent(move) && (await isSeen(this.#stores.saved.at(`${number}`), newFile));
  }

  /**
   * Checks whether an entry is exactly the one seen earlier. If inodes are reliable, equal content isn't enough: the
   * time must match as well, because FUSE can happen to reuse the journal's number.
   */
  async #isVery(path: string, seen: Seen): Promise<boolean> {
    const { ino, mtimeMs } = lstatSync(path);
    const isOther = seen !== 'other' && this.#hasSameInodes && ino !== seen.ino && mtimeMs !== seen.mtimeMs;
    return !isOther && (await isSeen(path, seen));
  }

  /** Returns the new file of a free path. Undefined if there was a previous file, which still exists then. */
  #newFileOf({ number, oldEntry, newFile }: FileMove): string | undefined {
    return oldEntry || !newFile ? undefined : this.#stores.staging.at(`${number}`);
  }

  /** Checks for the empty placeholder of a source that still exists and can't be linked. */
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

/** Checks whether the new and the previous file differ in content. */
const changesContent = ({ oldEntry, newFile }: FileMove): boolean =>
  typeof oldEntry !== 'object' || oldEntry.sha256 !== newFile?.sha256;

/** Puts an entry at a free path. Without hard links or a free inode for a placeholder, a check right before must do. */
function putBack(source: string, target: string): void {
  if (lstatSync(source).isDirectory()) {
    renameSync(source, target);
    return;
  }
  try {
    putNew(source, target);
  } catch (error) {
    if (!FULL.includes(codeOf(error)) || statOf(target)) throw error;
    renameSync(source, target);
  }
}
