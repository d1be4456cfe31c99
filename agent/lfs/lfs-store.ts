import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from '../../shared/io/git/git.ts';
import type { GuardedHttp } from '../../shared/io/http/guarded-http.ts';
import { CLONE_VOLUME, onVolume } from '../../shared/io/volume-error.ts';
import { fetchLfsObjects, incompleteFolder, objectPath } from './fetch-lfs-objects.ts';
import type { LfsTransfer } from './lfs-api.ts';
import { lfsError } from './lfs-errors.ts';
import type { LfsPointer } from './lfs-pointer.ts';

/** The content of a file, from git or from Git LFS: `chunks` has to be read to its end before the next file is asked for. */
export interface Content {
  size: number;
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>;
}

/** A file in the data volume, by git's id of what it was made from and the SHA-256 sum of what it came to. */
interface DeliveredFile {
  blob: string;
  sha256: string;
}

export interface LfsStoreOptions {
  git: Git;
  http: GuardedHttp;
  /** Folder of the store; it is the agent's alone. */
  path: string;
}

/** Content from Git LFS, on disk. */
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
    const { git, http, path: folder } = this.#options;
    await onVolume(CLONE_VOLUME, () => fetchLfsObjects({ git, http, folder }, pointers, transfer));
  }

  /**
   * Drops all content but what these files were made of. `pointersOf` gives the pointers among git's blobs: what a
   * template or a patch made of an object has another sum than the object.
   */
  async tidy(files: DeliveredFile[], pointersOf: (blobs: string[]) => Promise<LfsPointer[]>): Promise<void> {
    await onVolume(CLONE_VOLUME, () => this.#tidy(files, pointersOf));
  }

  async #tidy(files: DeliveredFile[], pointersOf: (blobs: string[]) => Promise<LfsPointer[]>): Promise<void> {
    await rm(incompleteFolder(this.#options.path), { recursive: true, force: true });
    const root = join(this.#options.path, 'lfs/objects');
    const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
    const objects = entries.filter((entry) => entry.isFile());
    if (objects.length === 0) return;
    const pointers = await pointersOf(files.map(({ blob }) => blob));
    const kept = new Set([...files.map(({ sha256 }) => sha256), ...pointers.map(({ oid }) => oid)]);
    for (const entry of objects) {
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
    await onVolume(CLONE_VOLUME, () => rm(this.#pathOf(oid), { force: true }));
    throw lfsError('damaged');
  }

  #pathOf(oid: string): string {
    return objectPath(this.#options.path, oid);
  }
}
