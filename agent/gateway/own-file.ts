import { fsyncSync, writeSync } from 'node:fs';
import { OpenFile } from '../disk/open-file.ts';
import { readText } from '../disk/read-text.ts';
import { setMode } from '../disk/set-mode.ts';

/** The agent's directory in the data volume. */
export interface OwnDirectory {
  /** Whether it has an entry of this name. */
  has(name: string): boolean;
  /** Opens it, and creates it if necessary. A replacement of its path then has no effect. */
  open(): OpenedDirectory;
}

interface OpenedDirectory extends Disposable {
  at(name: string): string;
  makeRoom(name: string): void;
}

/** A file next to the manifest, which outlives the agent. */
export class OwnFile {
  readonly #name: string;
  readonly #directory: OwnDirectory;
  readonly #checkOwner: () => void;

  /** `checkOwner` throws if another agent has taken over the volume, and the file with it. */
  constructor(name: string, directory: OwnDirectory, checkOwner: () => void) {
    this.#name = name;
    this.#directory = directory;
    this.#checkOwner = checkOwner;
  }

  exists(): boolean {
    return this.#directory.has(this.#name);
  }

  /** Returns its text, which is empty if it can't be read. */
  read(maxBytes: number): string {
    return this.exists() ? this.#inDirectory((directory) => readText(directory.at(this.#name), maxBytes)) : '';
  }

  /** Creates the file and never opens an existing one, which might be a link. */
  write(text: string, mode: number): void {
    this.#checkOwner();
    this.#inDirectory((directory) => {
      directory.makeRoom(this.#name);
      using file = new OpenFile(directory.at(this.#name), 'wx', mode);
      setMode(file.descriptor, mode); // this process's umask might have removed permissions
      writeSync(file.descriptor, text);
      fsyncSync(file.descriptor);
    });
  }

  remove(): void {
    this.#checkOwner();
    this.#inDirectory((directory) => directory.makeRoom(this.#name));
  }

  #inDirectory<T>(work: (directory: OpenedDirectory) => T): T {
    using directory = this.#directory.open();
    return work(directory);
  }
}
