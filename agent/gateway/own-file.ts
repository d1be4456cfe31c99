import { closeSync, fchmodSync, fsyncSync, lstatSync, openSync, writeSync } from 'node:fs';
import { readText } from '../../shared/io/read-text.ts';

/** The agent's own directory in the data volume, held open: nothing that takes the place of its name gets in between. */
export interface OwnFolder extends Disposable {
  at(name: string): string;
  makeRoom(name: string): void;
}

/** A file next to the manifest, so that it outlives the agent. */
export class OwnFile {
  readonly #name: string;
  readonly #openFolder: () => OwnFolder;
  readonly #checkOwner: () => void;

  /** `checkOwner` throws if the volume is another agent's by now: the file is that one's then. */
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

  /** Creates it again, and never opens what is in its place: a link there leads nowhere. */
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

/** The mask of this process may have taken permissions away. */
function permit(descriptor: number, mode: number): void {
  try {
    fchmodSync(descriptor, mode);
  } catch {} // the volume forces its own modes
}
