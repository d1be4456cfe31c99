import { renameSync, unlinkSync } from 'node:fs';
import { Pacer } from '../../../shared/io/pacer.ts';
import type { Directory } from '../../disk/directory.ts';
import { fingerprintOf } from '../../disk/fingerprint-of.ts';
import { isForbidden, readHash } from '../../disk/hash-file.ts';
import { isSameFile, isUnchanged, statOf } from '../../disk/seen-file.ts';
import type { Stores } from '../state/stores.ts';

/** Maximum number of nested directories that are removed one by one; deeper ones are kept as a whole. */
const MAX_DEPTH = 140;

interface RemoveOptions {
  /** Path of the tree for names in `taken-over`. */
  destination: string;
  stores: Stores;
  /** Checks whether a file is also at its path in the volume or in another tree. If omitted, every other name counts. */
  isElsewhere?: (file: Buffer, path: string) => boolean;
  signal?: AbortSignal | undefined;
}

/**
 * Removes a tree. A file that is also elsewhere only loses this name; any other one isn't the agent's and goes to
 * `taken-over`. So does the rest of the tree if it has directories of another user; returns the path of the first one.
 * Follows no links. Can be interrupted at any step, and then starts again.
 */
export async function removeTree(parent: Directory, name: string, options: RemoveOptions): Promise<string | undefined> {
  const stats = statOf(parent.at(name));
  if (!stats) return undefined;
  const remover = new Remover(options);
  if (stats.isDirectory()) await remover.remove(parent, name, { path: '', depth: 0 });
  if (!stats.isDirectory() || remover.blockedAt !== undefined)
    options.stores.takenOver.put(parent.at(name), options.destination);
  return remover.blockedAt;
}

interface Place {
  /** Path in the tree. */
  path: string;
  depth: number;
}

class Remover {
  /** Path of the first directory in the tree that the agent can't change. */
  blockedAt: string | undefined;
  readonly #options: RemoveOptions;
  readonly #pacer = new Pacer();

  constructor(options: RemoveOptions) {
    this.#options = options;
  }

  async remove(parent: Directory, name: string, { path, depth }: Place): Promise<void> {
    const { isElsewhere = () => true, signal } = this.#options;
    {
      using directory = parent.open(name);
      directory.permit(0o755);
      for (const raw of directory.rawNames()) {
        signal?.throwIfAborted();
        const text = Buffer.from(raw, 'latin1').toString('utf8');
        const entry = { path: path === '' ? text : `${path}/${text}`, depth: depth + 1 };
        const file = directory.rawPath(raw);
        const isText = Buffer.from(text).equals(Buffer.from(raw, 'latin1'));
        const stats = statOf(file);
        if (stats?.isDirectory() && isText && depth < MAX_DEPTH) await this.#tryRemove(directory, text, entry);
        else if (stats && !stats.isDirectory() && stats.nlink > 1 && isElsewhere(file, entry.path)) unlinkSync(file);
        else if (stats) await this.#keep(file, entry.path);
        if (this.#pacer.isDue) await this.#pacer.rest();
      }
    }
    parent.removeDirectory(name);
  }

  /** Only a directory that the agent can change can be moved on its own. */
  async #tryRemove(parent: Directory, name: string, place: Place): Promise<void> {
    try {
      await this.remove(parent, name, place);
    } catch (error) {
      if (!isForbidden(error)) throw error;
      this.blockedAt ??= place.path;
    }
  }

  /** Moves an entry to `taken-over`. The same content of this path is kept once. */
  async #keep(file: Buffer, path: string): Promise<void> {
    const { destination, stores, signal } = this.#options;
    const { takenOver } = stores;
    const before = statOf(file);
    const sha256 = before?.isFile() ? await readHash(file, signal) : undefined;
    if (before === undefined || sha256 === undefined) return takenOver.put(file, `${destination}/${path}`);
    // With the hash, it can't be the name of a file with other content, or of one that was taken over.
    const version = `${destination}/${path}.${sha256.slice(0, 16)}`;
    const kept = takenOver.firstOf(version);
    const isKept = statOf(kept)?.isFile() && (await readHash(kept, signal)) === sha256;
    // Renamed, not removed, because a program that has the file open might write to it.
    if (isKept && isUnchanged(file, fingerprintOf(before)) && !isSameFile(file, kept)) renameSync(file, kept);
    else takenOver.put(file, version);
  }
}
