import { readFileSync } from 'node:fs';
import { chdir, cwd } from 'node:process';
import type { Folder, Place } from './folder.ts';

/**
 * The folder that the process works in while it writes one small file after the other without a wait. A bare name is a
 * path there: one through /proc, which leads into the same folder whatever takes its place, takes a third longer to
 * open. Whoever enters a folder leaves it before it lets anything else run.
 *
 * No folder is entered where the core dump of a process that crashes could be left in it, for the gateway to read: by
 * Linux, or by a program that is given the dump and writes it there as well, as abrt does. With a limit of 0 none is.
 */
export class WorkingFolder {
  /** Where to go back to; undefined where no folder is entered. */
  readonly #home = homeWithoutDumps();
  #entered: Folder | undefined;

  /** The path of a place, until the next call. */
  at({ folder, name }: Place): string {
    if (this.#home === undefined) return folder.at(name);
    if (folder === this.#entered) return name;
    try {
      chdir(folder.at('.'));
    } catch {
      return folder.at(name); // to be told what is wrong with it
    }
    this.#entered = folder;
    return name;
  }

  /** Goes back to where the process was, and to the root of all folders where that is gone. */
  leave(): void {
    if (!this.#entered || this.#home === undefined) return;
    try {
      chdir(this.#home);
    } catch {
      chdir('/');
    }
    this.#entered = undefined;
  }
}

/** The folder that the process is in; undefined where a crash may leave a core dump, or where nobody can tell. */
function homeWithoutDumps(): string | undefined {
  try {
    return /^Max core file size +0 /m.test(readFileSync('/proc/self/limits', 'latin1')) ? cwd() : undefined;
  } catch {
    return undefined;
  }
}
