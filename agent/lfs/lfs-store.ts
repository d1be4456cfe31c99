import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TransientError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import { fetchLfsObjects, type LfsTransfer, lfsObjectNotFound } from './fetch-lfs-objects.ts';
import type { LfsPointer } from './lfs-pointer.ts';

/** The content of a file, from git or from Git LFS: `chunks` has to be read to its end before the next file is asked for. */
export interface Content {
  size: number;
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>;
}

export interface LfsStoreOptions {
  git: Git;
  /** Folder of the store; it is the agent's alone. */
  path: string;
}

/** Content from Git LFS, on disk as git-lfs keeps it. */
export class LfsStore {
  readonly #options: LfsStoreOptions;

  constructor(options: LfsStoreOptions) {
    this.#options = options;
  }

  /** The content that a pointer names, in pieces that are checked at the end; undefined where it is not there. */
  async open(pointer: LfsPointer): Promise<Content | undefined> {
    if (!(await this.#has(pointer))) return undefined;
    return { size: pointer.size, chunks: this.#read(pointer) };
  }

  /** Those whose content is not there. */
  async missing(pointers: LfsPointer[]): Promise<LfsPointer[]> {
    const found = await Promise.all(pointers.map(async (pointer) => ((await this.#has(pointer)) ? [] : [pointer])));
    return found.flat();
  }

  /** Fetches content, all of it at once. Throws {@link TerminalError} where the server does not have it. */
  async fetch(pointers: LfsPointer[], transfer: LfsTransfer): Promise<void> {
    const { git, path: folder } = this.#options;
    await fetchLfsObjects(git, { folder, pointers }, transfer);
    if ((await this.missing(pointers)).length > 0) throw lfsObjectNotFound();
  }

  /** Drops all content but that with the SHA-256 sums that `keep` gives; it is asked only where there is content. */
  async tidy(keep: () => ReadonlySet<string>): Promise<void> {
    const root = join(this.#options.path, 'lfs/objects');
    const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
    const files = entries.filter((entry) => entry.isFile());
    if (files.length === 0) return;
    const kept = keep();
    for (const entry of files) {
      if (!kept.has(entry.name)) await rm(join(entry.parentPath, entry.name), { force: true });
    }
  }

  async #has({ oid, size }: LfsPointer): Promise<boolean> {
    const found = await stat(this.#pathOf(oid)).catch(() => undefined);
    return found?.size === size;
  }

  async *#read({ oid }: LfsPointer): AsyncGenerator<Buffer> {
    const hash = createHash('sha256');
    for await (const data of createReadStream(this.#pathOf(oid))) {
      hash.update(data as Buffer);
      yield data as Buffer;
    }
    if (hash.digest('hex') === oid) return;
    await rm(this.#pathOf(oid), { force: true });
    throw new TransientError('an object of Git LFS is damaged: it is fetched again', {
      code: 'lfs.damaged',
      reason: 'LfsUnavailable',
    });
  }

  #pathOf(oid: string): string {
    return join(this.#options.path, 'lfs/objects', oid.slice(0, 2), oid.slice(2, 4), oid);
  }
}
