import { createHash } from 'node:crypto';
import { createReadStream, type Dirent } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
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
  /** For a pointer of Git LFS: whether this is what it points to, or the pointer itself. */
  lfs?: boolean;
}

/** A file in the data volume, by git's id of what it was made from and the SHA-256 sum of what it came to. */
interface DeliveredFile {
  blob: string;
  sha256: string;
}

/** The commit in place, and the pinned ones. */
interface History {
  applied: string | undefined;
  pinned: string[];
}

const NO_HISTORY: History = { applied: undefined, pinned: [] };

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
    return { size: pointer.size, chunks: this.#stream(pointer) };
  }

  /** Those whose content is not there, one for each content. */
  async missing(pointers: LfsPointer[]): Promise<LfsPointer[]> {
    const missing = new Map<string, LfsPointer>();
    // One after the other: all at once would take more memory than there is for so many files.
    for (const pointer of pointers) if (!(await this.#has(pointer))) missing.set(pointer.oid, pointer);
    return [...missing.values()];
  }

  /** Fetches content, all of it at once. Throws {@link TerminalError} where the server does not have it. */
  async fetch(pointers: LfsPointer[], transfer: LfsTransfer): Promise<void> {
    const { git, http, path: folder } = this.#options;
    await onVolume(CLONE_VOLUME, () => fetchLfsObjects({ git, http, folder }, pointers, transfer));
  }

  /**
   * Drops all content but what these files were made of, and what was noted of pinned commits. `pointersOf` gives
   * the pointers among git's blobs: what a template or a patch made of an object has another sum than the object.
   */
  async tidy(
    files: DeliveredFile[],
    pointersOf: (blobs: string[]) => Promise<LfsPointer[]>,
    { applied, pinned }: History = NO_HISTORY,
  ): Promise<void> {
    await onVolume(CLONE_VOLUME, async () => {
      await rm(incompleteFolder(this.#options.path), { recursive: true, force: true });
      const objects = await this.#objects();
      if (objects.length === 0) return;
      const pointers = await pointersOf(files.map(({ blob }) => blob));
      const needed = new Set([...files.map(({ sha256 }) => sha256), ...pointers.map(({ oid }) => oid)]);
      const own = objects.map(({ name }) => name).filter((oid) => needed.has(oid));
      if (applied !== undefined && pinned.includes(applied)) await this.#note(applied, own);
      const noted = await this.#notesOf([...(applied ? [applied] : []), ...pinned]);
      await removeAll(objects.filter(({ name }) => !needed.has(name) && !noted.has(name)));
    });
  }

  /** Drops what was noted of all commits but these, and of no other. */
  async keepOnly(commits: string[]): Promise<void> {
    await onVolume(CLONE_VOLUME, async () => {
      const all = await readdir(this.#notes).catch(() => []);
      const dropped = await this.#read(all.filter((commit) => !commits.includes(commit)));
      const noted = await this.#notesOf(commits);
      await removeAll((await this.#objects()).filter(({ name }) => dropped.has(name) && !noted.has(name)));
    });
  }

  async #objects(): Promise<Dirent[]> {
    const root = join(this.#options.path, 'lfs/objects');
    const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => entry.isFile());
  }

  /** Adds to what a commit needs: with other mappings it may need more of it. */
  async #note(commit: string, oids: string[]): Promise<void> {
    const before = await this.#read([commit]);
    if (oids.every((oid) => before.has(oid))) return;
    const file = join(this.#notes, commit);
    await mkdir(this.#notes, { recursive: true });
    await writeFile(`${file}.new`, [...new Set([...before, ...oids])].join('\n'));
    await rename(`${file}.new`, file);
  }

  /** What these commits need; the notes of all others go. */
  async #notesOf(commits: string[]): Promise<Set<string>> {
    for (const name of await readdir(this.#notes).catch(() => [])) {
      if (!commits.includes(name)) await rm(join(this.#notes, name), { force: true });
    }
    return await this.#read(commits);
  }

  async #read(commits: string[]): Promise<Set<string>> {
    const texts = commits.map((commit) => readFile(join(this.#notes, commit), 'latin1').catch(() => ''));
    return new Set((await Promise.all(texts)).join('\n').split('\n'));
  }

  /** Folder with a file for each commit that names the objects that it needs. */
  get #notes(): string {
    return join(this.#options.path, 'commits');
  }

  async #has({ oid, size }: LfsPointer): Promise<boolean> {
    const found = await stat(this.#pathOf(oid)).catch(() => undefined);
    return found?.size === size;
  }

  async *#stream({ oid }: LfsPointer): AsyncGenerator<Buffer> {
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

async function removeAll(entries: Dirent[]): Promise<void> {
  for (const { parentPath, name } of entries) await rm(join(parentPath, name), { force: true });
}
