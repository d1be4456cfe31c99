import { lstatSync, renameSync } from 'node:fs';
import { splitPath } from '../../../shared/domain/files/relative-path.ts';
import { Pacer } from '../../../shared/io/pacer.ts';
import { changed, orChanged } from '../../disk/changed.ts';
import { fingerprintOf } from '../../disk/fingerprint-of.ts';
import type { HeldDirectory } from '../../disk/held-directory.ts';
import { putNew, tryLink } from '../../disk/put-new.ts';
import { isSeen, isUnchanged, statOf } from '../../disk/seen-file.ts';
import type { FileMove, Move } from '../manifest/move.ts';
import type { DataRoot } from '../state/data-root.ts';
import { type Stores, tryAt, withStores } from '../state/stores.ts';
import { TreePublisher } from '../trees/publish-trees.ts';

interface MoveOptions {
  root: DataRoot;
  /** Permissions of new directories; undefined for the usual ones. */
  permissions: number | undefined;
}

/**
 * Makes the moves in the journal. Only entries that the plan saw are replaced or removed, and no path leads through a
 * link. Throws at the first difference; then everything is undone.
 */
export async function moveFiles(moves: readonly Move[], { root, permissions }: MoveOptions): Promise<void> {
  const pacer = new Pacer();
  await withStores(root, async (stores, held) => {
    const mover = new FileMover(held, stores);
    using publisher = new TreePublisher(root, stores);
    for (const move of moves) {
      if (move.kind === 'file') await mover.move(move);
      else if (move.kind === 'publish')
        publisher.publish(
          move,
          orChanged(move.path, () => held.at(splitPath(move.path)[0])),
        );
      else if (move.kind === 'makeFolder') makeDirectory(move.path, held, permissions);
      else removeDirectory(move.path, held);
      if (pacer.isDue) await pacer.rest();
    }
  });
}

function makeDirectory(path: string, held: HeldDirectory, permissions: number | undefined): void {
  const [parent, name] = splitPath(path);
  const above = orChanged(path, () => held.at(parent));
  if (above.make(name) && permissions !== undefined) above.permitBelow(name, permissions);
}

/** Removes a directory if it is empty; files of others keep it. */
function removeDirectory(path: string, held: HeldDirectory): void {
  const [parent, name] = splitPath(path);
  tryAt(held, parent)?.removeDirectory(name);
}

class FileMover {
  readonly #held: HeldDirectory;
  readonly #stores: Stores;

  constructor(held: HeldDirectory, stores: Stores) {
    this.#held = held;
    this.#stores = stores;
  }

  async move(move: FileMove): Promise<void> {
    if (!move.newFile) return await this.#remove(move);
    const [parent, name] = splitPath(move.path);
    const target = orChanged(move.path, () => this.#held.at(parent)).at(name);
    const source = this.#stores.staging.at(`${move.number}`);
    if (!move.oldEntry || !isThere(target, move.path)) orChanged(move.path, () => putNew(source, target));
    else await this.#replace(move, { source, target });
  }

  /** Succeeds if the file is already gone. */
  async #remove(move: FileMove): Promise<void> {
    const [parent, name] = splitPath(move.path);
    const target = tryAt(this.#held, parent)?.at(name);
    if (target === undefined || !isThere(target, move.path)) return;
    renameSync(target, this.#savedAs(move));
    await this.#checkSaved(move);
  }

  /** Replaces a file, atomically if the file system has hard links. */
  async #replace(move: FileMove, { source, target }: { source: string; target: string }): Promise<void> {
    const saved = this.#savedAs(move);
    const isLinked = orChanged(move.path, () => tryLink(target, saved));
    if (!isLinked) renameSync(target, saved);
    await this.#checkSaved(move);
    if (!isLinked) return orChanged(move.path, () => putNew(source, target));
    if (!isUnchanged(target, fingerprintOf(lstatSync(saved)))) throw changed(move.path);
    renameSync(source, target);
  }

  /** Throws unless the saved entry is the one that the plan saw, and doesn't change while it is read. */
  async #checkSaved(move: FileMove): Promise<void> {
    const saved = this.#savedAs(move);
    const before = fingerprintOf(lstatSync(saved));
    const isExpected =
      move.oldEntry !== undefined && (await isSeen(saved, move.oldEntry)) && isUnchanged(saved, before);
    if (!isExpected) throw changed(move.path);
  }

  #savedAs({ number }: FileMove): string {
    return this.#stores.saved.at(`${number}`);
  }
}

/** Checks whether an entry exists. Throws for a directory, which must have appeared since the scan. */
function isThere(target: string, path: string): boolean {
  const stats = statOf(target);
  if (stats?.isDirectory()) throw changed(path);
  return stats !== undefined;
}
