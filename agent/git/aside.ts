import { isCommitHash } from '../../shared/domain/check-ref-name.ts';
import { TerminalError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import { blobSizes } from './blob-reader.ts';
import {
  type CommitSource,
  type FetchOptions,
  fetchBlobs,
  fetchedCommit,
  fetchOne,
  isRefused,
  qualifiedNames,
} from './fetch-commit.ts';
import type { Repository } from './repository.ts';

/** The ref that holds what is looked at, and not to be brought in place. */
const ASIDE_REF = 'refs/sync/aside';

/** What to look at: a ref, and what it must lead to if that is known. */
interface AsideSource extends Omit<CommitSource, 'commit'> {
  commit: string | undefined;
  /** Whether every file of the commit is wanted. */
  isWhole: boolean;
}

type Way = Pick<FetchOptions, 'access' | 'signal'>;
type Fixed = Pick<FetchOptions, 'gitDir' | 'filter' | 'limits'>;

/**
 * What is fetched for a look next to the commit that is there, which stays the one that was fetched last. Only one look
 * may be under way, and no sync.
 */
export class Aside {
  readonly #git: Git;
  readonly #repository: Repository;
  readonly #fixed: Fixed;

  constructor(git: Git, repository: Repository, fixed: Fixed) {
    this.#git = git;
    this.#repository = repository;
    this.#fixed = fixed;
  }

  /** Sees to it that there is a repository for commits like this one. Throws {@link TerminalError} where it is of another kind. */
  async open(commit: string): Promise<void> {
    await this.#repository.openFor(commit);
  }

  /** Fetches what a ref leads to, and gives that commit. Throws {@link TerminalError} where it leads to none. */
  async fetch({ isWhole, ...source }: AsideSource, way: Way): Promise<string> {
    const { commit: wanted } = source;
    if (wanted !== undefined && wanted === this.#repository.contents.commit) return wanted;
    await this.#repository.heal();
    const filter = isWhole ? undefined : this.#fixed.filter;
    this.#repository.onFetch({ isPartial: filter !== undefined, hasFiles: true });
    const { isPartial } = this.#repository.contents;
    try {
      return await this.#fetchFirst(source, { ...this.#fixed, ...way, isPartial, filter });
    } finally {
      await this.#repository.onFetchFailed();
    }
  }

  async #fetchFirst(source: Omit<AsideSource, 'isWhole'>, options: FetchOptions): Promise<string> {
    const { ref, commit } = source;
    const names = isCommitHash(ref) ? [ref] : [...(commit ? [commit] : []), ...qualifiedNames(ref)];
    for (const name of names) {
      try {
        await fetchOne(this.#git, { ...source, name, to: ASIDE_REF }, options);
      } catch (error) {
        if (isRefused(error)) continue;
        throw error;
      }
      const found = await fetchedCommit(this.#git, options.gitDir, ASIDE_REF);
      if (found && (commit === undefined || found === commit)) return found;
    }
    const what = commit && commit !== ref ? `${ref} that leads to commit ${commit}` : ref;
    throw new TerminalError(`the repository has no ${what}`, { code: 'git.refNotFound', reason: 'RefNotFound' });
  }

  /** Fetches blobs that were left out of a fetch by their ids; nothing comes in their place where the host gives none so. */
  async fetchBlobs(source: CommitSource, blobs: string[], way: Way): Promise<void> {
    if (!this.#repository.contents.isPartial) return;
    await this.#repository.heal();
    await fetchBlobs(this.#git, { ...source, blobs }, { ...this.#fixed, ...way });
  }

  /** The sizes of blobs in bytes, as far as they are on disk. */
  async sizes(blobs: string[]): Promise<ReadonlyMap<string, number>> {
    return await blobSizes(this.#git, this.#fixed.gitDir, blobs);
  }

  /** Lets go of what was looked at, but for what is kept of the commit for other reasons. */
  async drop(commit: string | undefined, kept: readonly string[]): Promise<void> {
    await this.#git.run([`--git-dir=${this.#fixed.gitDir}`, 'update-ref', '-d', ASIDE_REF]);
    if (commit !== undefined && !kept.includes(commit)) await this.#repository.pins.letGo(commit);
  }
}
