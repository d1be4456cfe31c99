import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import type { GitAccess } from '../../shared/io/git/git-environment.ts';
import type { Logger } from '../../shared/log.ts';
import type { LfsPointer } from '../lfs/lfs-pointer.ts';
import type { TreeChange, TreeEntry } from '../plan/plan-input.ts';
import { BlobReader, findPointers, missingBlobs } from './blob-reader.ts';
import {
  type CommitSource,
  FETCHED_REF,
  FETCHED_TAG,
  type FetchOptions,
  fetchBlobs,
  fetchCommit,
  fetchedCommit,
  fetchTag,
  OFFLINE_PROMISOR,
} from './fetch-commit.ts';
import { diffTrees, readTree } from './read-tree.ts';
import { emptyFolder, healClone, tidyClone } from './tidy-clone.ts';

/** Larger files are fetched only where they are mapped; smaller ones cost less than another request. */
const LIMIT_FILTER = 'blob:limit=64k';

/** So many blobs take git longer to be asked for one by one than as a part of the commit. */
const MANY_BLOBS = 1_000;

/** What git says of a repository in which something is missing, be it that a killed git still wrote to it. */
const damage =
  /did not send all necessary objects|Failed to traverse|bad object|not a valid object|object .* corrupt|packfile .* (corrupt|cannot)|shallow file has changed/i;

const CHECK_TIMEOUT_MS = 300_000;

export interface CloneOptions {
  git: Git;
  /** Folder of the repository; it is the agent's alone. */
  path: string;
  log: Logger;
}

type Transfer = Pick<FetchOptions, 'access' | 'signal'>;

/** What to fetch. */
export interface FetchRequest extends CommitSource {
  /** Whether every file of the commit is wanted. */
  isWhole: boolean;
}

/**
 * The bare repository on disk: the last commit without history, no work tree, no remote, no credentials. Files that
 * nobody asked for may be missing from it.
 */
export class Clone {
  readonly #git: Git;
  readonly #path: string;
  readonly #log: Logger;
  #fetched: string | undefined;
  #isOpen = false;
  /** Whether the repository was found sound, or worked, since the last failure. */
  #isTrusted = false;
  /** Whether files may be missing. */
  #isPartial = false;
  /** Whether they are looked for before they are read: after most fetches of a change none is missing. */
  #looksForMissing = true;
  /** Whether the host gives single files by their ids. */
  #servesBlobs = true;

  constructor({ git, path, log }: CloneOptions) {
    this.#git = git;
    this.#path = path;
    this.#log = log;
  }

  /** Whether the commit is there already; after the first time without asking git. */
  async has(commit: string): Promise<boolean> {
    if (!this.#isOpen) await this.#open(commit);
    return this.#fetched === commit;
  }

  /**
   * Fetches the commit. Where the host can, it leaves files out: the first time all of them, since only those that are
   * mapped are asked for then, later on large ones. Throws what the git runner throws.
   */
  async fetch(request: FetchRequest, access: GitAccess, signal?: AbortSignal): Promise<void> {
    if (!this.#isOpen) await this.#open(request.commit);
    await healClone(this.#path);
    const filter = this.#filterFor(request);
    this.#fetched = undefined;
    try {
      await this.#fetchCommit(request, { access, signal, filter });
    } catch (error) {
      if (!(await this.#mayBeOurFault(error))) throw error;
      await this.recreate(request.commit);
      await this.#fetchCommit(request, { access, signal, filter: this.#filterFor(request) });
    }
    this.#fetched = request.commit;
    this.#isTrusted = true;
  }

  /** Which of these blobs were left out, as far as it is likely that any was. */
  async missing(blobs: string[]): Promise<string[]> {
    return this.#isPartial && this.#looksForMissing ? await missingBlobs(this.#git, this.#path, blobs) : [];
  }

  /** A blob was missing: has them looked for, and tells whether that may help. */
  expectMissing(): boolean {
    const mayHelp = this.#isPartial && !this.#looksForMissing;
    this.#looksForMissing = true;
    return mayHelp;
  }

  /**
   * Fetches blobs that were left out. It is the whole commit that comes where they are many of its files, or where the
   * host does not give them by their ids.
   */
  async fetchBlobs(source: CommitSource, blobs: string[], transfer: Transfer): Promise<void> {
    await healClone(this.#path);
    const isMost = blobs.length > MANY_BLOBS && blobs.length * 4 > (await this.#countFiles(source.commit));
    if (isMost) await this.#fetchCommit(source, { ...transfer, filter: LIMIT_FILTER, isRefetch: true });
    const left = isMost ? await this.missing(blobs) : blobs;
    try {
      await fetchBlobs(this.#git, { repo: source.repo, blobs: left }, { gitDir: this.#path, ...transfer });
    } catch (error) {
      if (!(error instanceof TerminalError && error.code === 'git.refNotFound')) throw error;
      this.#servesBlobs = false;
      await this.#fetchCommit(source, { ...transfer, filter: undefined, isRefetch: true });
    }
  }

  /** Fetches the object of the tag that the source's ref names. */
  async fetchTag(source: CommitSource, access: GitAccess, signal?: AbortSignal): Promise<void> {
    await healClone(this.#path);
    const options = { gitDir: this.#path, access, signal, isPartial: this.#isPartial, filter: undefined };
    await fetchTag(this.#git, source, options);
  }

  /** The tag that was fetched last: its object, the name that it says of itself and the commit that it leads to. */
  async tag(): Promise<{ id: string; name: string; commit: string } | undefined> {
    const format = '%(objecttype) %(objectname) %(*objectname) %(tag)';
    const output = await this.#read(['for-each-ref', `--format=${format}`, FETCHED_TAG]);
    const [type, id, commit, ...name] = output.split(' ');
    return type === 'tag' && id && commit ? { id, commit, name: name.join(' ') } : undefined;
  }

  /** Who wrote the commit: name and address. */
  async author(commit: string): Promise<string> {
    const text = await this.#read(['log', '-1', '--format=%an <%ae>', '--end-of-options', commit]);
    return text.slice(0, 200);
  }

  /** The files of a commit below the sources. */
  async tree(commit: string, sources: string[]): Promise<TreeEntry[]> {
    return await readTree(this.#git, { gitDir: this.#path, commit, sources });
  }

  /** The files below the sources that differ between two commits; undefined where the earlier one is gone. */
  async changes(from: string, to: string, sources: string[]): Promise<TreeChange[] | undefined> {
    return from === to ? [] : await diffTrees(this.#git, { gitDir: this.#path, from, to, sources });
  }

  /** The pointers of Git LFS among blobs. */
  async pointers(blobs: string[]): Promise<LfsPointer[]> {
    return await findPointers(this.#git, this.#path, blobs);
  }

  blobs(): BlobReader {
    return new BlobReader(this.#git, this.#path);
  }

  /** Deletes everything and starts from nothing. */
  async recreate(commit: string): Promise<void> {
    this.#log.warn({ path: this.#path }, 'clone is made anew');
    this.#fetched = undefined;
    await emptyFolder(this.#path);
    await this.#init(commit);
    this.#isPartial = false;
    this.#isTrusted = true;
  }

  /** Merges the packs of many fetches, now and then. */
  async tidy(): Promise<void> {
    await tidyClone(this.#git, this.#path, { isPartial: this.#isPartial });
  }

  #filterFor({ isWhole }: FetchRequest): string | undefined {
    if (isWhole || !this.#servesBlobs) return undefined;
    return this.#fetched ? LIMIT_FILTER : 'blob:none';
  }

  async #fetchCommit(source: CommitSource, transfer: Transfer & Pick<FetchOptions, 'filter' | 'isRefetch'>) {
    this.#isPartial ||= transfer.filter !== undefined;
    this.#looksForMissing = transfer.filter !== LIMIT_FILTER || transfer.isRefetch === true;
    await fetchCommit(this.#git, source, { gitDir: this.#path, isPartial: this.#isPartial, ...transfer });
  }

  async #countFiles(commit: string): Promise<number> {
    const args = [`--git-dir=${this.#path}`, 'ls-tree', '-r', '--object-only', '--full-tree', commit];
    return (await this.#git.run(args, { maxOutputBytes: Number.POSITIVE_INFINITY })).length / (commit.length + 1);
  }

  async #open(commit: string): Promise<void> {
    await mkdir(this.#path, { recursive: true });
    await healClone(this.#path);
    await this.#init(commit).catch(() => this.recreate(commit));
    this.#fetched = await fetchedCommit(this.#git, this.#path);
    const packs = await readdir(join(this.#path, 'objects/pack')).catch(() => []);
    this.#isPartial = packs.some((name) => name.endsWith('.promisor'));
    this.#isOpen = true;
  }

  /** Does no harm where there is a repository already. */
  async #init(commit: string): Promise<void> {
    const format = commit.length === 64 ? 'sha256' : 'sha1';
    const args = ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, this.#path];
    await this.#git.run(args).catch((cause) => {
      const details = { code: 'clone.unusable', reason: 'CloneUnusable', cause };
      throw new TransientError(
        `no repository can be made in ${this.#path} (REPO_PATH): is it full or read-only?`,
        details,
      );
    });
  }

  /** Something is missing, or an unknown failure for the second time in a row: not the host, but what is on disk. */
  async #mayBeOurFault(error: unknown): Promise<boolean> {
    if (!(error instanceof TransientError) || error.code !== 'git.unreachable') return false;
    if (damage.test(String(error.cause))) return true;
    if (this.#isTrusted) {
      this.#isTrusted = false;
      return false;
    }
    if (!(await fetchedCommit(this.#git, this.#path))) return true;
    const bearing = this.#isPartial ? ['--missing=allow-promisor'] : [];
    const check = [...OFFLINE_PROMISOR, `--git-dir=${this.#path}`, 'rev-list', '--objects', '--quiet', ...bearing];
    this.#isTrusted = await this.#git.run([...check, FETCHED_REF], { timeoutMs: CHECK_TIMEOUT_MS }).then(
      () => true,
      () => false,
    );
    return !this.#isTrusted;
  }

  async #read(args: string[]): Promise<string> {
    return (await this.#git.run([`--git-dir=${this.#path}`, ...args])).toString('utf8').trim();
  }
}
