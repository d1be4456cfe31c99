import { renameSync, symlinkSync } from 'node:fs';
import { splitPath } from '../../../shared/domain/files/relative-path.ts';
import { codeOf, TerminalError } from '../../../shared/errors.ts';
import { changed, orChanged } from '../../disk/changed.ts';
import type { Directory } from '../../disk/directory.ts';
import { statOf } from '../../disk/seen-file.ts';
import type { PublishMove } from '../manifest/move.ts';
import { linkTarget, treeAt } from '../scan/tree-link.ts';
import { type DataRoot, TREES } from '../state/data-root.ts';
import type { Stores } from '../state/stores.ts';
import { BUILDING, READ_ONLY } from './build-tree.ts';

/** Exchanges links to trees, and undoes that. */
export class TreePublisher implements Disposable {
  readonly #root: DataRoot;
  readonly #stores: Stores;
  readonly #opened = new Map<string, Directory>();

  constructor(root: DataRoot, stores: Stores) {
    this.#root = root;
    this.#stores = stores;
  }

  get #building(): Directory {
    return this.#open(BUILDING);
  }

  get #trees(): Directory {
    return this.#open(TREES);
  }

  /** Opens them only if there are trees: most volumes have none. */
  #open(name: string): Directory {
    const directory = this.#opened.get(name) ?? this.#root.openAgentDirectory(name);
    this.#opened.set(name, directory);
    return directory;
  }

  /** Throws if the entry isn't the one that the plan saw. */
  publish(move: PublishMove, directory: Directory): void {
    const { path, to, tree, from, leaves = '' } = move;
    const [, name] = splitPath(path);
    if (to === 'link' && tree !== undefined) this.#enter(tree);
    if (from === 'link' && to === 'link' && tree !== undefined) {
      this.#exchange(leaves, tree, { directory, path });
      return;
    }
    if (from === 'link' && treeAt(this.#root, directory, path) !== leaves) throw changed(path);
    if (from === 'link') directory.unlink(name);
    if (from === 'directory') this.#moveAway(move, directory, name);
    this.#arrive(move, directory);
  }

  /**
   * Restores the previous entry unless another one has taken its place. A tree that was moved to `trees` stays there,
   * because readers might have seen it, and is removed like a previous one.
   */
  undo(move: PublishMove, directory: Directory | undefined): void {
    const { path, tree, from, leaves = '' } = move;
    const [, name] = splitPath(path);
    if (!directory) return;
    if (tree !== undefined && treeAt(this.#root, directory, path) === tree) {
      if (from === 'link') this.#exchange(tree, leaves, { directory, path });
      else directory.unlink(name);
    }
    this.#withdraw(move, directory, name);
    if (!statOf(directory.at(name))) this.#comeBack(move, directory, name);
  }

  /** Moves a complete tree to where links lead. */
  #enter(tree: string): void {
    renameSync(this.#building.at(tree), this.#trees.at(tree));
    this.#trees.permitBelow(tree, READ_ONLY);
  }

  /** Replaces a link by another one, atomically. Throws if another entry has taken its place. */
  #exchange(previous: string, next: string, { directory, path }: { directory: Directory; path: string }): void {
    const [, name] = splitPath(path);
    const { staging } = this.#stores;
    staging.unlink(next);
    symlinkSync(linkTarget(this.#root, path, next), staging.at(next));
    if (treeAt(this.#root, directory, path) !== previous) throw changed(path);
    renameSync(staging.at(next), directory.at(name));
  }

  #moveAway(move: PublishMove, directory: Directory, name: string): void {
    if (!statOf(directory.at(name))?.isDirectory()) throw changed(move.path);
    try {
      renameSync(directory.at(name), this.#placeOf(move));
    } catch (cause) {
      const code = codeOf(cause);
      throw ['EACCES', 'EPERM', 'EBUSY', 'EXDEV'].includes(code) ? immovable(move.path, code, cause) : cause;
    }
  }

  #placeOf({ leaves = '', displacedTo }: PublishMove): string {
    return displacedTo === undefined ? this.#trees.at(leaves) : this.#stores.takenOver.at(displacedTo);
  }

  #arrive({ path, to, tree = '' }: PublishMove, directory: Directory): void {
    const [, name] = splitPath(path);
    const target = directory.at(name);
    if (to === 'link') orChanged(path, () => symlinkSync(linkTarget(this.#root, path, tree), target));
    if (to !== 'directory' || !statOf(this.#building.at(tree))?.isDirectory()) return;
    if (statOf(target)) throw changed(path);
    renameSync(this.#building.at(tree), target);
  }

  /** Takes back a directory that came. */
  #withdraw({ to, tree = '' }: PublishMove, directory: Directory, name: string): void {
    if (to !== 'directory') return;
    const target = directory.at(name);
    const source = this.#building.at(tree);
    if (statOf(target)?.isDirectory() && !statOf(source)) renameSync(target, source);
  }

  #comeBack(move: PublishMove, directory: Directory, name: string): void {
    const { path, from, leaves = '' } = move;
    if (from === 'link') symlinkSync(linkTarget(this.#root, path, leaves), directory.at(name));
    if (from !== 'directory' || !statOf(this.#placeOf(move))?.isDirectory()) return;
    renameSync(this.#placeOf(move), directory.at(name));
  }

  [Symbol.dispose](): void {
    for (const directory of this.#opened.values()) directory.close();
  }
}

const immovable = (path: string, code: string, cause: unknown) =>
  new TerminalError(
    `the directory ${path} can't be replaced with a link to an atomic tree (${code}): the agent's user must be able to write to it, and nothing must be mounted there`,
    { code: 'data.immovable', reason: 'PathConflict', cause },
  );
