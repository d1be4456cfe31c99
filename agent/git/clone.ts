import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TerminalError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import type { GitAccess } from '../../shared/io/git/git-environment.ts';
import type { LfsPointer } from '../plan/lfs-pointer.ts';
import type { OnEntry } from '../plan/memory-budget.ts';
import type { TreeChange, TreeEntry } from '../plan/plan-input.ts';
import { BlobReader, listSizes, readPointers } from './blob-reader.ts';
import { type AttributesQuery, checkAttributes } from './check-attributes.ts';
import {
  type CommitSource,
  type FetchOptions,
  fetchBlobs,
  fetchCommit,
  fetchOne,
  fetchRef,
  type RefSource,
  tagNameOf,
} from './fetch-commit.ts';
import { faultOfFetch } from './find-fault.ts';
import { ModuleStore } from './module-store.ts';
import { type Pins, tagRef } from './pins.ts';
import { LIMIT_FILTER, NO_FILES } from './promisor.ts';
import { readTag, readTreeId, type Tag } from './read-commit.ts';
import { diffTrees, hasFewEntries, listAbove, listTree, type TreePair, type TreeRequest } from './read-tree.ts';
import { Repository, type RepositoryOptions } from './repository.ts';
import { tidyClone } from './tidy-clone.ts';
import type { TransferLimits } from './transfer.ts';

export interface CloneOptions extends RepositoryOptions {
  limits?: TransferLimits;
}

/** The tag of the last fetch, until it is pinned. */
const FETCHED_TAG = 'refs/sync/tag';

/** Name of the repository for lookups in the directory of the clone. {@link healClone} removes it after a kill. */
const LOOKUP = 'tmp_lookup';

type Way = Pick<FetchOptions, 'access' | 'signal'>;

/** Above this number of blobs, fetching them with their commit is faster than requesting them one by one. */
const MANY_BLOBS = 1_000;

/** Request for a fetch. */
export interface FetchRequest extends CommitSource {
  /** Whether every file of the commit is needed. */
  isWhole: boolean;
  /** Whether no file of the commit is needed, only its directories. */
  isBare?: boolean;
  /** Whether to fetch everything, even objects that seem to exist. */
  isRefetch?: boolean;
}

/**
 * The bare repository on disk: the last commit without history, no work tree, no remote, no credentials. Files that
 * weren't needed can be missing from it.
 */
export class Clone {
  readonly repository: Repository;
  readonly modules: ModuleStore;
  readonly #options: CloneOptions;
  readonly #git: Git;
  /**
   * Files that the server leaves out of a commit after the first: all if the clone lacks even small ones, because deltas
   * against them would be useless. None if the server sends no file by its ID, or git rejects harmless objects.
   */
  #filter: FetchOptions['filter'] = LIMIT_FILTER;

  constructor(options: CloneOptions) {
    this.#options = options;
    this.#git = options.git;
    this.repository = new Repository(options);
    this.modules = new ModuleStore(options.git, options.path, this.repository.pins);
  }

  /**
   * Runs a lookup in a separate repository, which borrows the objects and pins of this one and is deleted afterwards.
   * Fetches for the lookup change nothing here. No other lookup and no sync can run at the same time. Throws
   * {@link TerminalError} if the clone has another object format than this commit.
   */
  async withLookup<T>(commit: string, run: (lookup: Clone) => Promise<T>): Promise<T> {
    await this.repository.openFor(commit);
    const { log, path } = this.#options;
    const lookup = new Clone({ ...this.#options, path: join(path, LOOKUP) });
    lookup.#filter = this.#filter && LIMIT_FILTER;
    try {
      await lookup.repository.borrow(this.repository);
      return await run(lookup);
    } finally {
      await rm(lookup.repository.path, { recursive: true, force: true }).catch((err) =>
        log.warn({ err }, 'temporary repository not removed'),
      );
    }
  }

  /** The pinned commits. */
  get pins(): Pins {
    return this.repository.pins;
  }

  /**
   * Makes the commit the current one if it is on disk, and returns whether it is. Moves the ref of the current commit
   * if the commit is pinned. The first call also creates the repository, and removes lock files of a killed git.
   */
  async adopt(commit: string): Promise<boolean> {
    if ((await this.repository.open(commit)).commit === commit) return true;
    if (!(await this.pins.adopt(commit))) return false;
    this.repository.onFetched(commit);
    return true;
  }

  /** Fetches the commit, without the files that the server can leave out. Throws the errors of the git runner. */
  async fetch(request: FetchRequest, access: GitAccess, signal?: AbortSignal): Promise<void> {
    const repository = this.repository;
    await repository.open(request.commit);
    await repository.heal();
    const attempt = () => this.#fetchCommit(request, { access, signal });
    try {
      await attempt();
    } catch (error) {
      await repository.onFetchFailed();
      if (!(await repository.isToBlame(error, signal))) throw faultOfFetch(error, request.commit);
      await repository.recreate(request.commit);
      await attempt().catch((again) => {
        throw faultOfFetch(again, request.commit);
      });
    }
    repository.onFetched(request.commit);
  }

  /** Fetches the commit that a ref points to, and returns its ID. Throws {@link TerminalError} if there is none. */
  async fetchRef({ isWhole, ...source }: RefSource & { isWhole: boolean }, way: Way): Promise<string> {
    if (source.commit !== undefined) {
      await this.repository.openFor(source.commit);
      if (await this.adopt(source.commit)) return source.commit;
    }
    const filter = isWhole || !this.#filter ? undefined : LIMIT_FILTER;
    this.repository.onFetch({ isPartial: filter !== undefined });
    const commit = await fetchRef(this.#git, source, { ...this.#optionsOf(way), filter });
    this.repository.onFetched(commit);
    return commit;
  }

  /** Returns the blobs that were omitted, each once. */
  async missing(blobs: string[], signal?: AbortSignal): Promise<string[]> {
    if (!this.repository.contents.isPartial) return [];
    // Git searches its directories again for each missing blob, so the first one represents all of them.
    const isSample = this.#filter === NO_FILES && blobs.length > MANY_BLOBS;
    if (isSample && (await this.#absent(blobs.slice(0, 1), signal)).length > 0) return [...new Set(blobs)];
    return await this.#absent(blobs, signal);
  }

  /**
   * Fetches blobs that were omitted. Fetches all small files of the commit first if it is small or many of its files are
   * needed, and all files if the server serves none by ID.
   */
  async fetchBlobs(source: CommitSource, blobs: string[], way: Way): Promise<void> {
    await this.repository.heal();
    let missing = blobs;
    if (this.#filter === NO_FILES && (await this.#isBetterWhole(blobs.length, source.commit, way.signal))) {
      await this.#refetch(source, LIMIT_FILTER, way);
      this.#filter = LIMIT_FILTER;
      missing = await this.#absent(blobs, way.signal);
    }
    try {
      await this.fetchBlobsById(source, missing, way);
    } catch (error) {
      if (!(error instanceof TerminalError && error.code === 'git.refNotFound'))
        throw faultOfFetch(error, source.commit);
      this.#filter = undefined;
      await this.#refetch(source, undefined, way);
    }
  }

  /** Fetches blobs by their IDs, with no fallback if the git server doesn't serve them by ID. */
  async fetchBlobsById(source: CommitSource, blobs: string[], way: Way): Promise<void> {
    await fetchBlobs(this.#git, { ...source, blobs }, this.#optionsOf(way));
  }

  /** Returns the sizes of blobs in bytes; see {@link listSizes}. */
  async sizes(blobs: string[]): Promise<ReadonlyMap<string, number | undefined>> {
    return await listSizes(this.#git, this.repository.path, blobs);
  }

  /**
   * Fetches the tag object that the source's ref names. If it isn't a tag of the source's commit, because it was moved,
   * the one that was fetched earlier remains.
   */
  async fetchTag(source: CommitSource, access: GitAccess, signal?: AbortSignal): Promise<void> {
    await this.repository.heal();
    this.pins.forget();
    const { path } = this.repository;
    const options = { ...this.#optionsOf({ access, signal }), filter: undefined };
    const name = `refs/tags/${tagNameOf(source.ref)}`;
    await fetchOne(this.#git, { ...source, name, to: FETCHED_TAG }, options);
    const tag = await readTag(this.#git, path, FETCHED_TAG);
    if (tag?.commit === source.commit) await this.pins.pinTag(tag.id, source);
    await this.#git.run([`--git-dir=${path}`, 'update-ref', '-d', FETCHED_TAG]);
  }

  /** Returns the tag last fetched for a commit: its object, the name in it, and its target. */
  async tag(commit: string): Promise<Tag | undefined> {
    return await readTag(this.#git, this.repository.path, tagRef(commit));
  }

  /** Returns the ID of the commit's tree. */
  async treeId(commit: string): Promise<string> {
    return await readTreeId(this.#git, this.repository.path, commit);
  }

  /** Lists the files of a commit below the sources; see {@link listTree}. */
  async list(request: Omit<TreeRequest, 'gitDir'>, onEntry: OnEntry): Promise<TreeEntry[]> {
    return await listTree(this.#git, { gitDir: this.repository.path, ...request }, onEntry);
  }

  /** Lists links and submodules above the sources; see {@link listAbove}. */
  async listAbove(request: Omit<TreeRequest, 'gitDir'>): Promise<TreeEntry[]> {
    return await listAbove(this.#git, { gitDir: this.repository.path, ...request }, () => {});
  }

  /** Lists the files below the sources that differ between two commits; undefined if the earlier commit is gone. */
  async changes({ from, to, ...rest }: Omit<TreePair, 'gitDir'>): Promise<TreeChange[] | undefined> {
    return from === to ? [] : await diffTrees(this.#git, { gitDir: this.repository.path, from, to, ...rest });
  }

  /** Queries the attributes of paths: see {@link checkAttributes}. */
  async attributes(query: AttributesQuery, onPath: Parameters<typeof checkAttributes>[3]): Promise<void> {
    await checkAttributes(this.#git, this.repository.path, query, onPath);
  }

  /** Returns the Git LFS pointers among blobs; see {@link readPointers}. */
  async pointers(blobs: string[], signal?: AbortSignal): Promise<LfsPointer[]> {
    return await readPointers(this.#git, this.repository.path, blobs, signal);
  }

  blobs(): BlobReader {
    return new BlobReader(this.#git, this.repository.path);
  }

  /** Merges the packs of many fetches once there are enough. Stops immediately if the signal aborts. */
  async tidy(signal?: AbortSignal): Promise<void> {
    const { contents, path } = this.repository;
    await this.repository.heal();
    await tidyClone(this.#git, path, { isPartial: contents.isPartial, signal });
  }

  async #fetchCommit(source: FetchRequest, way: Way): Promise<void> {
    const filter = this.#filterFor(source);
    const isNext = this.repository.contents.commit !== undefined;
    this.repository.onFetch({ isPartial: filter !== undefined });
    const { isRefetch = false, isBare = false } = source;
    const used = await fetchCommit(this.#git, source, { ...this.#optionsOf(way), filter, isRefetch });
    if (filter && !used) this.#filter = undefined;
    // The files of the previous commit remain if only directories are fetched.
    if (this.#filter && !(isBare && isNext && used === NO_FILES)) this.#filter = used ?? LIMIT_FILTER;
  }

  /**
   * Returns the filter for a fetch: none if all files are needed or couldn't be fetched later. Otherwise it excludes
   * all files of a first commit.
   */
  #filterFor({ isWhole, isBare }: FetchRequest): FetchOptions['filter'] {
    if (isWhole || !this.#filter) return undefined;
    const isFirst = this.repository.contents.commit === undefined;
    return isBare || isFirst ? NO_FILES : this.#filter;
  }

  /** Fetches the current commit again, with files that were omitted. */
  async #refetch(source: CommitSource, filter: FetchOptions['filter'], way: Way): Promise<void> {
    await fetchCommit(this.#git, source, { ...this.#optionsOf(way), filter, isRefetch: true });
  }

  async #absent(blobs: string[], signal: AbortSignal | undefined): Promise<string[]> {
    const sizes = await listSizes(this.#git, this.repository.path, blobs, signal);
    return [...sizes.keys()].filter((blob) => sizes.get(blob) === undefined);
  }

  #optionsOf({ access, signal }: Way) {
    const { path, contents } = this.repository;
    return { gitDir: path, access, signal, isPartial: contents.isPartial, limits: this.#options.limits };
  }

  /** Checks whether to fetch all small files of a commit instead of the needed files by ID. */
  async #isBetterWhole(wanted: number, commit: string, signal: AbortSignal | undefined): Promise<boolean> {
    const limit = Math.max(MANY_BLOBS, wanted * 4);
    return await hasFewEntries(this.#git, { gitDir: this.repository.path, commit, signal }, limit);
  }
}
