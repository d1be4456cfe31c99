import type { Directory } from './directory.ts';

/** Keeps the last used directory open, because most consecutive files are in the same one. */
export class HeldDirectory implements Disposable {
  readonly #openDirectory: (path: string) => Directory;
  #held: { path: string; directory: Directory } | undefined;

  constructor(openDirectory: (path: string) => Directory) {
    this.#openDirectory = openDirectory;
  }

  /** Returns the directory at a path, valid until the next call. */
  at(path: string): Directory {
    if (this.#held?.path === path) return this.#held.directory;
    this.close();
    const directory = this.#openDirectory(path);
    this.#held = { path, directory };
    return directory;
  }

  /** Closes the directory. */
  close(): void {
    this.#held?.directory.close();
    this.#held = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
