import type { Folder } from './folder.ts';

/** Holds the folder open that was last worked in: most files that follow one another lie in the same one. */
export class HeldFolder implements Disposable {
  readonly #openFolder: (path: string) => Folder;
  #held: { path: string; folder: Folder } | undefined;

  constructor(openFolder: (path: string) => Folder) {
    this.#openFolder = openFolder;
  }

  /** The folder at a path, valid until another one is asked for. */
  at(path: string): Folder {
    if (this.#held?.path === path) return this.#held.folder;
    this.close();
    const folder = this.#openFolder(path);
    this.#held = { path, folder };
    return folder;
  }

  /** Lets go of it. */
  close(): void {
    this.#held?.folder.close();
    this.#held = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
