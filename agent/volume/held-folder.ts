import type { Folder } from './folder.ts';

/** Keeps the last used directory open, because most consecutive files are in the same one. */
export class HeldFolder implements Disposable {
  readonly #openFolder: (path: string) => Folder;
  #held: { path: string; folder: Folder } | undefined;

  constructor(openFolder: (path: string) => Folder) {
    this.#openFolder = openFolder;
  }

  /** Returns the directory at a path, valid until the next call. */
  at(path: string): Folder {
    if (this.#held?.path === path) return this.#held.folder;
    this.close();
    const folder = this.#openFolder(path);
    this.#held = { path, folder };
    return folder;
  }

  /** Closes the directory. */
  close(): void {
    this.#held?.folder.close();
    this.#held = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
