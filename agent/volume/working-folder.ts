import { chdir, cwd } from 'node:process';
import type { Folder } from './folder.ts';

/**
 * The folder that the process works in while it writes one small file after the other without a wait. A name is a path
 * there: a path through /proc, which leads into the same folder whatever takes its place, takes a quarter longer to open.
 * Whoever enters a folder leaves it before anything else may run.
 */
export class WorkingFolder {
  readonly #home = cwd();
  #entered: Folder | undefined;

  /** Goes into a folder that is open. */
  enter(folder: Folder): void {
    if (folder === this.#entered) return;
    chdir(folder.at('.'));
    this.#entered = folder;
  }

  /** Goes back to where the process was. */
  leave(): void {
    if (this.#entered) chdir(this.#home);
    this.#entered = undefined;
  }
}
