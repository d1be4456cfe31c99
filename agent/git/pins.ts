import { access, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from '../../shared/io/git/git.ts';
import { FETCHED_REF } from './fetch-commit.ts';

/** Each of these refs is named after the commit that it holds. */
const ROOT = 'refs/sync/pins';

/** Commits that are kept in a clone, so that going back to one of them needs no git host. */
export class Pins {
  readonly #git: Git;
  readonly #gitDir: string;
  /** What was last seen to. */
  #kept = '';

  constructor(git: Git, gitDir: string) {
    this.#git = git;
    this.#gitDir = gitDir;
  }

  /** Makes a kept commit the one that was fetched last, and gives whether there was one. */
  async restore(commit: string): Promise<boolean> {
    const ref = `${ROOT}/${commit}`;
    const isThere = await access(join(this.#gitDir, ref)).then(
      () => true,
      () => false,
    );
    if (!isThere) return false;
    return await this.#run(['update-ref', FETCHED_REF, `${ref}^{commit}`]).then(
      () => true,
      () => false, // damaged: it comes from the host again
    );
  }

  /** Keeps the commit that was fetched last, and of those that are kept already the ones that are named. */
  async keep(current: string, others: readonly string[]): Promise<void> {
    const key = [current, ...others].join(' ');
    if (key === this.#kept) return;
    const there = await readdir(join(this.#gitDir, ROOT)).catch(() => []);
    const dropped = there.filter((name) => name !== current && !others.includes(name));
    await this.#run(['update-ref', `${ROOT}/${current}`, current]);
    for (const name of dropped) await this.#run(['update-ref', '-d', `${ROOT}/${name}`]);
    this.#kept = key;
  }

  /** The clone may have been made again. */
  forget(): void {
    this.#kept = '';
  }

  async #run(args: string[]): Promise<void> {
    await this.#git.run([`--git-dir=${this.#gitDir}`, ...args]);
  }
}
