import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isCommitHash } from '../../shared/domain/check-ref-name.ts';
import { TerminalError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import { blobSizes } from './blob-reader.ts';
import {
  type CommitSource,
  FETCHED_REF,
  type FetchOptions,
  fetchBlobs,
  fetchedCommit,
  fetchOne,
  isRefused,
  qualifiedNames,
} from './fetch-commit.ts';
import type { PinnedRefs } from './pins.ts';
import type { Repository } from './repository.ts';

/** The ref that holds what is looked at, and not to be brought in place. */
const ASIDE_REF = 'refs/sync/aside';

/** What to look at: a ref, and what it must lead to if that is known. */
interface AsideSource extends Omit<CommitSource, 'commit'> {
  commit: string | undefined;
  /** Whether every file of the commit is wanted. */
  isWhole: boolean;
}

/** What a look must leave as it is. */
interface BeforeLook {
  current: string | undefined;
  /** The refs of pinned commits. */
  pins: PinnedRefs;
  files: readonly string[];
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
    const { commit, isPartial } = this.#repository.contents;
    // Without a commit, as in a new pod whose files are right, nothing was fetched at all.
    if (commit !== undefined && !isPartial) return;
    await this.#repository.heal();
    await fetchBlobs(this.#git, { ...source, blobs }, { ...this.#fixed, ...way });
  }

  /** The sizes of blobs in bytes, as far as they are on disk. */
  async sizes(blobs: string[]): Promise<ReadonlyMap<string, number>> {
    return await blobSizes(this.#git, this.#fixed.gitDir, blobs);
  }

  /** What the repository holds before a look. */
  async before(): Promise<BeforeLook> {
    const { contents, pins } = this.#repository;
    return { current: contents.commit, pins: await pins.refs(), files: await this.#packFiles() };
  }

  /**
   * Lets go of what was looked at, and removes what came for it: nothing that was there before is any worse for that.
   * What came for a commit that is there for other reasons stays.
   */
  async drop(commit: string | undefined, { current, pins, files }: BeforeLook): Promise<void> {
    const update = [`--git-dir=${this.#fixed.gitDir}`, 'update-ref'];
    await this.#git.run([...update, '-d', ASIDE_REF]);
    // A host that gives no single files gave all of the commit once more, as if it were the one to bring in place.
    await this.#git.run(current ? [...update, FETCHED_REF, current] : [...update, '-d', FETCHED_REF]);
    // A tag of another name, by which the commit was verified, would have the next sync ask the host for its own.
    const isPinned = commit !== undefined && (await this.#repository.pins.reset(commit, pins));
    if (isPinned || (commit !== undefined && commit === current)) return;
    const came = (await this.#packFiles()).filter((name) => !files.includes(name));
    // Without its index a pack is nothing to git.
    for (const name of came.sort()) await rm(join(this.#packs, name), { force: true });
  }

  get #packs(): string {
    return join(this.#fixed.gitDir, 'objects/pack');
  }

  async #packFiles(): Promise<string[]> {
    return (await readdir(this.#packs)).filter((name) => name.startsWith('pack-'));
  }
}
