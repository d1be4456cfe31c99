import { createHash } from 'node:crypto';
import { createReadStream, type Dirent } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from '../../shared/io/git/git.ts';
import type { GuardedHttp } from '../../shared/io/http/guarded-http.ts';
import { CLONE_VOLUME, onVolume } from '../disk/volume-error.ts';
import type { LfsPointer } from '../plan/lfs-pointer.ts';
import { fetchLfsObjects, incompleteDirectory, objectPath } from './fetch-lfs-objects.ts';
import type { LfsTransfer } from './lfs-api.ts';
import { lfsError } from './lfs-errors.ts';

/** The content of a file, from git or Git LFS. `chunks` must be read to the end before the next file is opened. */
export interface Content {
  size: number;
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>;
  /** For a Git LFS pointer: whether this is the content it refers to, or the pointer itself. */
  lfs?: boolean;
}

/** A file in the data volume: git's ID of its source, and the SHA-256 of its delivered content. */
interface DeliveredFile {
  blob: string;
  sha256: string;
}

/** The applied commit, and the pinned ones. */
interface History {
  applied: string | undefined;
  pinned: string[];
}

const NO_HISTORY: History = { applied: undefined, pinned: [] };

export interface LfsStoreOptions {
  git: Git;
  http: GuardedHttp;
  /** Directory of the store, which only the agent uses. */
  path: string;
}

/** Content from Git LFS, on disk. */
export class LfsStore {
  readonly #options: LfsStoreOptions;

  constructor(options: LfsStoreOptions) {
    this.#options = options;
  }

  /** Opens the content of a pointer in chunks, which are checked at the end; undefined if it isn't on disk. */
  async open(pointer: LfsPointer): Promise<Content | undefined> {
    if (!(await this.#has(pointer))) return undefined;
    return { size: pointer.size, chunks: this.#stream(pointer) };
  }

  /** Returns the pointers whose content is missing, one per content. */
  async missing(pointers: LfsPointer[]): Promise<LfsPointer[]> {
    const missing = new Map<string, LfsPointer>();
    // In sequence, because checking all at once would take too much memory with very many files.
    for (const pointer of pointers) if (!(await this.#has(pointer))) missing.set(pointer.oid, pointer);
    return [...missing.values()];
  }

  /** Fetches all content in one call. Throws {@link TerminalError} if the server doesn't have it. */
  async fetch(pointers: LfsPointer[], transfer: LfsTransfer): Promise<void> {
    const { git, http, path: directory } = this.#options;
    await onVolume(CLONE_VOLUME, () => fetchLfsObjects({ git, http, directory }, pointers, transfer));
  }

  /**
   * Drops all content that neither these files nor pinned commits use. `pointersOf` returns the pointers among git's
   * blobs: the output of a template or patch has another hash than the object.
   */
  async tidy(
    files: DeliveredFile[],
    pointersOf: (blobs: string[]) => Promise<LfsPointer[]>,
    { applied, pinned }: History = NO_HISTORY,
  ): Promise<void> {
    await onVolume(CLONE_VOLUME, async () => {
      await rm(incompleteDirectory(this.#options.path), { recursive: true, force: true });
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

  /** Drops content that is noted only for commits other than these. */
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

  /** Adds to the objects that a commit needs: other mappings might need more of them. */
  async #note(commit: string, oids: string[]): Promise<void> {
    const before = await this.#read([commit]);
    if (oids.every((oid) => before.has(oid))) return;
    const file = join(this.#notes, commit);
    await mkdir(this.#notes, { recursive: true });
    await writeFile(`${file}.new`, [...new Set([...before, ...oids])].join('\n'));
    await rename(`${file}.new`, file);
  }

  /** Returns the objects that these commits need; deletes the notes of all others. */
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

  /** Directory with a file per commit that lists the objects that it needs. */
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
