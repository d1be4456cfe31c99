import { closeSync, fchmodSync, fsyncSync, lstatSync, openSync, writeSync } from 'node:fs';
import { readText } from '../../shared/io/read-text.ts';

/** The agent's directory in the data volume, held open so that a replacement of its path has no effect. */
export interface OwnFolder extends Disposable {
  at(name: string): string;
  makeRoom(name: string): void;
}

/** A file next to the manifest, which outlives the agent. */
export class OwnFile {
  readonly #name: string;
  readonly #openFolder: () => OwnFolder;
  readonly #checkOwner: () => void;

  /** `checkOwner` throws if another agent has taken over the volume, and the file with it. */
  constructor(name: string, openFolder: () => OwnFolder, checkOwner: () => void) {
    this.#name = name;
    this.#openFolder = openFolder;
    this.#checkOwner = checkOwner;
  }

  exists(): boolean {
    return this.#inFolder((folder) => lstatSync(folder.at(this.#name), { throwIfNoEntry: false }) !== undefined);
  }

  /** Returns its text, which is empty if it can't be read. */
  read(maxBytes: number): string {
    return this.#inFolder((folder) => readText(folder.at(this.#name), maxBytes));
  }

  /** Creates the file and never opens an existing one, which might be a link. */
  write(text: string, mode: number): void {
    this.#checkOwner();
    this.#inFolder((folder) => {
      folder.makeRoom(this.#name);
      const descriptor = openSync(folder.at(this.#name), 'wx', mode);
      try {
        permit(descriptor, mode);
        writeSync(descriptor, text);
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
    });
  }

  remove(): void {
    this.#checkOwner();
    this.#inFolder((folder) => folder.makeRoom(this.#name));
  }

  #inFolder<T>(work: (folder: OwnFolder) => T): T {
    using folder = this.#openFolder();
    return work(folder);
  }
}

/** Sets the mode explicitly because this process's umask might have removed permissions. */
function permit(descriptor: number, mode: number): void {
  try {
    fchmodSync(descriptor, mode);
  } catch {} // the volume forces its own modes
}
