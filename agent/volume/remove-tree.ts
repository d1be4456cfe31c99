import { unlinkSync } from 'node:fs';
import { Pacer } from '../../shared/io/pacer.ts';
import { displacedName } from '../plan/next-manifest.ts';
import type { Directory } from './directory.ts';
import { putAside } from './put-aside.ts';
import { sha256Of } from './scan-tree.ts';
import { statOf } from './seen-file.ts';
import type { Stores } from './stores.ts';

/** Maximum number of nested directories that are removed one by one; deeper ones are kept as a whole. */
const MAX_DEPTH = 140;

interface RemoveOptions {
  /** Path of the tree for names in `taken-over`. */
  destination: string;
  stores: Stores;
}

/**
 * Removes a tree. A file with another name only loses this one; any other one isn't the agent's and goes to
 * `taken-over`. Follows no links. Can be interrupted at any step, and then starts again.
 */
export async function removeTree(parent: Directory, name: string, options: RemoveOptions): Promise<void> {
  const stats = statOf(parent.at(name));
  if (!stats) return;
  if (!stats.isDirectory()) return putAside(parent.at(name), displacedName(options.destination, 1), options.stores);
  await new Remover(options.stores).remove(parent, name, { path: options.destination, depth: 0 });
}

interface Place {
  path: string;
  depth: number;
}

class Remover {
  readonly #stores: Stores;
  readonly #pacer = new Pacer();

  constructor(stores: Stores) {
    this.#stores = stores;
  }

  async remove(parent: Directory, name: string, { path, depth }: Place): Promise<void> {
    {
      using directory = parent.open(name);
      directory.permit(0o755);
      for (const raw of directory.rawNames()) {
        const text = Buffer.from(raw, 'latin1').toString('utf8');
        const entry = { path: `${path}/${text}`, depth: depth + 1 };
        const file = directory.rawPath(raw);
        const isText = Buffer.from(text).equals(Buffer.from(raw, 'latin1'));
        const stats = statOf(file);
        if (stats?.isDirectory() && isText && depth < MAX_DEPTH) await this.remove(directory, text, entry);
        else if (stats?.isFile() && stats.nlink > 1) unlinkSync(file);
        else if (stats) await this.#keep(file, entry.path);
        if (this.#pacer.isDue) await this.#pacer.rest();
      }
    }
    parent.removeDirectory(name);
  }

  /** Moves an entry to `taken-over`, unless the same content of this path is there already. */
  async #keep(file: Buffer, path: string): Promise<void> {
    const name = displacedName(path, 1);
    const kept = this.#stores.takenOver.at(name);
    const one = statOf(file);
    const other = statOf(kept);
    const hasSameSize = one?.isFile() && other?.isFile() && one.size === other.size;
    if (hasSameSize && (await sha256Of(file)) === (await sha256Of(kept))) unlinkSync(file);
    else putAside(file, name, this.#stores);
  }
}
