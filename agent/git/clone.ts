import { TerminalError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import type { GitAccess } from '../../shared/io/git/git-environment.ts';
import type { LfsPointer } from '../lfs/lfs-pointer.ts';
import type { TreeChange, TreeEntry } from '../plan/plan-input.ts';
import { Aside } from './aside.ts';
import { BlobReader, type BlobSurvey, readPointers, surveyBlobs } from './blob-reader.ts';
import { type AttributesQuery, checkAttributes } from './check-attributes.ts';
import { countTree, type TreeRequest, type TreeSize } from './count-tree.ts';
import { type CommitSource, type FetchOptions, fetchBlobs, fetchCommit, fetchTag } from './fetch-commit.ts';
import {
  type FetchPlan,
  type Host,
  isMostOf,
  LIMIT_FILTER,
  MANY_BLOBS,
  planFetch,
  RepositorySize,
} from './fetch-policy.ts';
import { faultOfFetch } from './find-fault.ts';
import { type Pins, tagRef } from './pins.ts';
import { NO_FILES } from './promisor.ts';
import { readAuthor, readTag, type Tag } from './read-commit.ts';
import { diffTrees, listTree, readTree, type TreeBounds, type TreeListing, type TreePair } from './read-tree.ts';
import { type Fault, Repository, type RepositoryOptions } from './repository.ts';
import { tidyClone } from './tidy-clone.ts';
import { TooLargeError, type TransferLimits } from './transfer.ts';

export interface CloneOptions extends RepositoryOptions {
  limits?: TransferLimits;
}

type Way = Pick<FetchOptions, 'access' | 'signal'>;

/** What to fetch. */
export interface FetchRequest extends CommitSource {
  /** Whether every file of the commit is wanted. */
  isWhole: boolean;
  /** Whether everything is to come, also what seems to be there. */
  isRefetch?: boolean;
}

/**
 * The bare repository on disk: the last commit without history, no work tree, no remote, no credentials. Files that
 * nobody asked for may be missing from it.
 */
export class Clone {
  readonly #git: Git;
  readonly #repository: Repository;
  readonly #limits: TransferLimits | undefined;
  #host: Host = 'servesBlobs';
  readonly #size = new RepositorySize();

  constructor({ limits, ...options }: CloneOptions) {
    this.#git = options.git;
    this.#repository = new Repository(options);
    this.#limits = limits;
  }

  /** What is fetched for a look, next to the commit that is there. */
  get aside(): Aside {
    const { path } = this.#repository;
    const limits = { filter: this.#host === 'servesBlobs' ? LIMIT_FILTER : undefined, limits: this.#limits };
    return new Aside(this.#git, this.#repository, { gitDir: path, ...limits });
  }

  /** The pinned commits. */
  get pins(): Pins {
    return this.#repository.pins;
  }

  /** Returns whether the commit is the current one or pinned. Changes nothing, and runs git only the first time. */
  async holds(commit: string): Promise<boolean> {
    return await this.#repository.holds(commit);
  }

  /**
   * Makes the commit the current one if it is on disk, and returns whether it is: moves the ref of the current commit to
   * a pinned one. The first call also creates the repository and removes the lock files of a killed git.
   */
  async adopt(commit: string): Promise<boolean> {
    if ((await this.#repository.open(commit)).commit === commit) return true;
    if (!(await this.pins.adopt(commit))) return false;
    this.#repository.onFetched(commit);
    return true;
  }

  /** Fetches the commit, without the files that the host can leave out. Throws what the git runner throws. */
  async fetch(request: FetchRequest, access: GitAccess, signal?: AbortSignal): Promise<void> {
    const repository = this.#repository;
    await repository.open(request.commit);
    await repository.heal();
    const attempt = () => this.#fetchPlanned(request, { access, signal });
    try {
      await attempt();
    } catch (error) {
      await repository.onFetchFailed();
      if (!(await repository.isToBlame(error, signal))) throw faultOfFetch(error, request.commit);
      await repository.recreate(request.commit);
      await attempt();
    }
    repository.onFetched(request.commit);
  }

  /** Which of these blobs were left out. */
  async missing(blobs: string[], signal?: AbortSignal): Promise<string[]> {
    return this.#repository.contents.isPartial ? (await this.survey(blobs, signal)).missing : [];
  }

  /** Which of these blobs were left out, and which of the others may be pointers of Git LFS. */
  async survey(blobs: string[], signal?: AbortSignal): Promise<BlobSurvey> {
    const { contents, path } = this.#repository;
    const isPartial = contents.isPartial;
    // For each that is missing git looks through its folders once more: one tells whether the host left them all out.
    const isSample = isPartial && blobs.length > MANY_BLOBS && !contents.hasFiles;
    const look = (some: string[]) => surveyBlobs(this.#git, path, some, signal);
    const isNoneThere = isSample && (await look(blobs.slice(0, 1))).missing.length > 0;
    if (isNoneThere) return { missing: [...new Set(blobs)], small: [] };
    const { missing, small } = await look(blobs);
    return { missing: isPartial ? missing : [], small };
  }

  /**
   * Fetches blobs that were left out, and gives which of them may be pointers of Git LFS. It is the whole commit that
   * comes where they are many of its files, or where the host does not give them by their ids.
   */
  async fetchBlobs(source: CommitSource, blobs: string[], way: Way): Promise<string[]> {
    await this.#repository.heal();
    this.#repository.onFetchFiles();
    const isMost = blobs.length > MANY_BLOBS && (await this.#areMost(blobs.length, source.commit, way.signal));
    if (isMost) {
      await this.#refetch(source, { ...way, filter: LIMIT_FILTER });
      this.#size.onSmallFiles();
    }
    const look = (some: string[]) => surveyBlobs(this.#git, this.#repository.path, some, way.signal);
    const { missing, small } = isMost ? await look(blobs) : { missing: blobs, small: [] };
    try {
      await fetchBlobs(this.#git, { ...source, blobs: missing }, this.#optionsOf(way));
    } catch (error) {
      if (!(error instanceof TerminalError && error.code === 'git.refNotFound'))
        throw faultOfFetch(error, source.commit);
      this.#host = 'commitsOnly';
      await this.#refetch(source, { ...way, filter: undefined });
    }
    return [...small, ...(await look(missing)).small];
  }

  /** Fetches the object of the tag that the source's ref names. */
  async fetchTag(source: CommitSource, access: GitAccess, signal?: AbortSignal): Promise<void> {
    await this.#repository.heal();
    this.pins.forget();
    const options = { ...this.#optionsOf({ access, signal }), filter: undefined };
    await fetchTag(this.#git, { ...source, to: tagRef(source.commit) }, options);
  }

  /** The tag that was last fetched for a commit: its object, the name that it says of itself and what it leads to. */
  async tag(of: string): Promise<Tag | undefined> {
    return await readTag(this.#git, this.#repository.path, tagRef(of));
  }

  /** Who wrote the commit: name and address. */
  async author(commit: string): Promise<string> {
    return await readAuthor(this.#git, this.#repository.path, commit);
  }

  /** The files of a commit below the sources. */
  async tree(commit: string, sources: string[], signal?: AbortSignal): Promise<TreeEntry[]> {
    return await readTree(this.#git, { gitDir: this.#repository.path, commit, sources, signal });
  }

  /** The same as far as there is memory, and their number. */
  async list(request: Omit<TreeRequest, 'gitDir'>, bounds: TreeBounds): Promise<TreeListing> {
    return await listTree(this.#git, { gitDir: this.#repository.path, ...request }, bounds);
  }

  /** The files below the sources that differ between two commits; undefined where the earlier one is gone. */
  async changes({ from, to, ...rest }: Omit<TreePair, 'gitDir'>): Promise<TreeChange[] | undefined> {
    return from === to ? [] : await diffTrees(this.#git, { gitDir: this.#repository.path, from, to, ...rest });
  }

  /** Queries the attributes of paths: see {@link checkAttributes}. */
  async attributes(query: AttributesQuery, onPath: Parameters<typeof checkAttributes>[3]): Promise<void> {
    await checkAttributes(this.#git, this.#repository.path, query, onPath);
  }

  /** The pointers of Git LFS among blobs; those that are not there are passed over. */
  async pointers(blobs: string[], signal?: AbortSignal): Promise<LfsPointer[]> {
    return await this.pointersAmong((await this.survey(blobs, signal)).small, signal);
  }

  /** The same for blobs that may be pointers. */
  async pointersAmong(small: string[], signal?: AbortSignal): Promise<LfsPointer[]> {
    return await readPointers(this.#git, this.#repository.path, small, signal);
  }

  /** Deletes everything to make room for a commit, unless it did so for this one before: see {@link Repository.recreateForRoom}. */
  async recreateForRoom(commit: string): Promise<boolean> {
    return await this.#repository.recreateForRoom(commit);
  }

  blobs(): BlobReader {
    return new BlobReader(this.#git, this.#repository.path);
  }

  /** Why a commit cannot be read that was fetched: see {@link Repository.faultIn}. */
  async faultIn(commit: string, signal: AbortSignal): Promise<Fault> {
    return await this.#repository.faultIn(commit, signal);
  }

  /** Deletes everything and starts from nothing. */
  async recreate(commit: string): Promise<void> {
    await this.#repository.recreate(commit);
  }

  /** Merges the packs of many fetches, now and then; stops at once when the signal aborts. */
  async tidy(signal?: AbortSignal): Promise<void> {
    const { contents, path } = this.#repository;
    await this.#repository.heal();
    await tidyClone(this.#git, path, { isPartial: contents.isPartial, hasCopies: this.#size.hasCopies, signal });
    this.#size.onCompacted();
  }

  async #fetchPlanned(request: FetchRequest, way: Way): Promise<void> {
    const { contents } = this.#repository;
    const plan = () => planFetch(request, contents, { host: this.#host, isLarge: this.#size.isLarge });
    try {
      await this.#fetchCommit(request, { ...way, ...plan() });
    } catch (error) {
      if (!(error instanceof TooLargeError)) throw error;
      this.#size.onGivenUp();
      this.#repository.onFetchGivenUp(contents);
      await this.#repository.heal();
      await this.#fetchCommit(request, { ...way, ...plan() });
    }
  }

  async #fetchCommit(source: FetchRequest, options: Way & FetchPlan): Promise<void> {
    const { filter, bounds } = options;
    this.#repository.onFetch({ isPartial: filter !== undefined, hasFiles: filter !== NO_FILES });
    const { isRefetch = false } = source;
    const { onFallback } = this.#size;
    await fetchCommit(this.#git, source, { ...this.#optionsOf(options), filter, isRefetch, bounds, onFallback });
    if (filter !== NO_FILES) this.#size.onFetched();
  }

  /** Everything of the commit that is already there once more, with files that were left out. */
  async #refetch(source: CommitSource, options: Way & Pick<FetchOptions, 'filter'>): Promise<void> {
    const refetch = { ...this.#optionsOf(options), filter: options.filter, isRefetch: true };
    await fetchCommit(this.#git, source, refetch);
  }

  #optionsOf({ access, signal }: Way) {
    const { path, contents } = this.#repository;
    return { gitDir: path, access, signal, isPartial: contents.isPartial, limits: this.#limits };
  }

  /** Whether so many files are most of a commit's. */
  async #areMost(wanted: number, commit: string, signal: AbortSignal | undefined): Promise<boolean> {
    const isEnough = ({ files, folders }: TreeSize) => !isMostOf(files + folders, wanted);
    const request = { gitDir: this.#repository.path, commit, sources: [''], signal };
    return (await countTree(this.#git, request, isEnough)).isComplete;
  }
}
