import type { Git } from '../../shared/io/git/git.ts';
import type { Logger } from '../../shared/log.ts';
import type { Repository } from './repository.ts';
import { compactClone } from './tidy-clone.ts';

/**
 * The room that was made for a commit in the volume of the clone: first goes what no commit needs, then the earlier
 * commits, the least important first, and at each try as many as in all tries before, since nobody knows how much the
 * commit takes.
 */
export class MadeRoom {
  readonly #git: Git;
  readonly #repository: Repository;
  readonly #log: Logger;
  #commit: string | undefined;
  #dropped = 0;

  constructor(repository: Repository, { git, log }: { git: Git; log: Logger }) {
    this.#repository = repository;
    this.#git = git;
    this.#log = log;
  }

  /** Makes some more, and gives whether there is any. */
  async make(commit: string, signal: AbortSignal): Promise<boolean> {
    const { pins } = this.#repository;
    if ((await pins.commits()).length === 0) return false;
    const isFirst = commit !== this.#commit;
    if (isFirst) [this.#commit, this.#dropped] = [commit, 0];
    await this.#repository.heal();
    if (isFirst && (await this.#compact(signal)) > 0) return true;
    const dropped = await pins.dropLast(Math.max(1, this.#dropped));
    if (dropped.length === 0) return false;
    this.#dropped += dropped.length;
    this.#log.warn(
      { commit, dropped },
      'the volume of the clone is full: a rollback to these commits needs the git host',
    );
    await this.#compact(signal);
    return true;
  }

  /** What finds no room for itself leaves everything as it is. */
  async #compact(signal: AbortSignal): Promise<number> {
    const { path, contents } = this.#repository;
    return await compactClone(this.#git, path, { isPartial: contents.isPartial, signal }).catch((error) => {
      signal.throwIfAborted();
      this.#log.warn({ err: error }, 'clone not compacted');
      return 0;
    });
  }
}
