import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import { saidNothing } from '../../shared/io/git/git-process.ts';
import { CLONE_VOLUME, onVolume } from '../../shared/io/volume-error.ts';
import type { Logger } from '../../shared/log.ts';
import { FETCHED_REF, fetchedCommit, fetchedObject } from './fetch-commit.ts';
import { arePacksIntact, CHECK_TIMEOUT_MS, holdsOtherKinds, isOfOtherKind, isTooDeep } from './find-fault.ts';
import { DamagedCloneError } from './git-stream.ts';
import { ownRefs, Pins } from './pins.ts';
import { OFFLINE_PROMISOR } from './promisor.ts';
import { emptyFolder, healClone } from './tidy-clone.ts';

export interface RepositoryOptions {
  git: Git;
  /** Its folder, which is the agent's alone. */
  path: string;
  log: Logger;
}

/** What is in the repository. */
export interface Contents {
  /** The commit of which everything is there that was not left out on purpose. */
  readonly commit: string | undefined;
  /** Whether files may have been left out. */
  readonly isPartial: boolean;
}

/**
 * Something is wrong with the clone, or with the commit itself, which may be no commit at all, or objects are gone, or
 * never came, which only another fetch can tell.
 */
export type Fault = 'clone' | 'commit' | 'noCommit' | 'missing';

const NOTHING: Contents = { commit: undefined, isPartial: false };
/** Minimum time between two checks of all objects: this, and this many times what the last one took. */
const BETWEEN_CHECKS = { ms: 60_000, times: 100 };

/** The folder with git's objects: opened, healed, made again. */
export class Repository {
  readonly path: string;
  readonly pins: Pins;
  readonly #git: Git;
  readonly #log: Logger;
  /** Undefined before it was opened. */
  #contents: Contents | undefined;
  /** Hexadecimal digits of its objects' ids. */
  #idLength = 0;
  /** The last commit that it was recreated for to make room. */
  #roomFor: string | undefined;
  /** When all objects may be checked again. */
  #checkAt = Number.NEGATIVE_INFINITY;

  constructor({ git, path, log }: RepositoryOptions) {
    this.#git = git;
    this.path = path;
    this.pins = new Pins(git, path);
    this.#log = log;
  }

  /** Returns whether the commit is the current one or pinned. Changes nothing, and runs git only before the first sync. */
  async holds(commit: string): Promise<boolean> {
    const current = this.#contents ? this.#contents.commit : await fetchedCommit(this.#git, this.path);
    return current === commit || (await this.pins.has(commit));
  }

  /**
   * Creates the repository if there is none for commits of this kind, removes what a killed git left, and returns what is
   * in it. Runs git only once.
   */
  async open(commit: string): Promise<Contents> {
    if (this.#contents && commit.length !== this.#idLength) await this.recreate(commit);
    if (this.#contents) return this.#contents;
    await onVolume(CLONE_VOLUME, () => mkdir(this.path, { recursive: true }));
    await this.heal();
    await this.#init(commit.length).catch(async (error) => {
      if (saidNothing(error)) throw error;
      await this.recreate(commit);
    });
    const packs = await readdir(join(this.path, 'objects/pack')).catch(() => []);
    if (packs.length === 0) {
      this.pins.begin();
      this.#contents = NOTHING;
      return NOTHING;
    }
    this.#contents = {
      commit: await fetchedCommit(this.#git, this.path),
      isPartial: packs.some((name) => name.endsWith('.promisor')),
    };
    return this.#contents;
  }

  /** Opens the repository for a look-up, which never recreates it. Throws {@link TerminalError} for commits of another kind. */
  async openFor(commit: string): Promise<void> {
    if (!this.#contents) await this.open(commit);
    if (commit.length === this.#idLength) return;
    throw new TerminalError(`commit ${commit} isn't an object ID of this repository (${this.#idLength} hex digits)`, {
      code: 'git.refNotFound',
      reason: 'RefNotFound',
    });
  }

  /**
   * Creates this repository for a look-up. It borrows the objects of another one (`alternates` in
   * gitrepository-layout(5)), and has copies of its refs and of its list of shallow commits: without that git would take
   * their parents for missing.
   */
  async borrow(from: Repository): Promise<void> {
    await onVolume(CLONE_VOLUME, () => rm(this.path, { recursive: true, force: true }));
    await this.#init(from.#idLength);
    await onVolume(CLONE_VOLUME, async () => {
      await writeFile(join(this.path, 'objects/info/alternates'), `${join(from.path, 'objects')}\n`);
      await copyFile(join(from.path, 'shallow'), join(this.path, 'shallow')).catch(ignoreMissing);
    });
    const { commit } = from.contents;
    const refs = [...(await from.pins.refs()), ...(commit ? [[FETCHED_REF, commit] as const] : [])];
    const input = refs.map(([ref, id]) => `create ${ref} ${id}\n`).join('');
    await this.#git.run([`--git-dir=${this.path}`, 'update-ref', '--stdin'], { input }).catch((error) => {
      throw saidNothing(error) ? error : new DamagedCloneError(String(error.cause));
    });
    this.#contents = from.contents;
  }

  /** What is in it, as far as it was opened. */
  get contents(): Contents {
    return this.#contents ?? NOTHING;
  }

  /** Removes what a killed git left; no other may run in it. */
  async heal(): Promise<void> {
    await healClone(this.path);
  }

  /** Deletes everything and starts from nothing. */
  async recreate(commit: string): Promise<void> {
    this.#log.warn({ path: this.path }, 'recreating the clone; rolling back now needs the git server');
    this.#contents = undefined;
    this.pins.forget();
    await emptyFolder(this.path);
    await this.#init(commit.length);
    this.#contents = NOTHING;
  }

  /**
   * Recreates the repository for a commit that it has no room for, and returns whether it did. It does so once in a row
   * for a commit: one that is too large by itself would be fetched twice in each sync.
   */
  async recreateForRoom(commit: string): Promise<boolean> {
    if (this.#roomFor === commit) return false;
    await this.recreate(commit);
    this.#roomFor = commit;
    return true;
  }

  /** A fetch begins: until it is complete nothing is certain. */
  onFetch({ isPartial }: Pick<Contents, 'isPartial'>): void {
    this.#contents = { commit: undefined, isPartial: isPartial || this.contents.isPartial };
  }

  /** A fetch failed, or was for another ref: the commit that was there is there still, since its ref moves only when all of the next one is. */
  async onFetchFailed(): Promise<void> {
    this.#contents = { ...this.contents, commit: await fetchedCommit(this.#git, this.path) };
  }

  /** A fetch succeeded. */
  onFetched(commit: string): void {
    this.#contents = { ...this.contents, commit };
    if (commit !== this.#roomFor) this.#roomFor = undefined;
  }

  /**
   * Checks whether a fetch that failed for an unknown reason failed because of what is on disk. Checks are so rare that
   * a git server can't keep the agent busy with them.
   */
  async isToBlame(error: unknown, signal?: AbortSignal): Promise<boolean> {
    if (!(error instanceof TransientError) || error.code !== 'git.unreachable') return false;
    return await this.#finds(() => this.#isSound(signal));
  }

  /** Why a commit cannot be read that was fetched. */
  async faultIn(commit: string, signal: AbortSignal): Promise<Fault> {
    if (!(await fetchedCommit(this.#git, this.path)))
      return (await fetchedObject(this.#git, this.path)) ? 'noCommit' : 'clone';
    if (await this.#finds(() => arePacksIntact(this.#git, this.path, signal))) return 'clone';
    const suspect = { gitDir: this.path, commit, refs: ownRefs(commit), signal };
    return (await holdsOtherKinds(this.#git, suspect)) ? 'commit' : 'missing';
  }

  /** Whether a look at everything finds damage; without a look where the last one was a short while ago. */
  async #finds(isFine: () => Promise<boolean>): Promise<boolean> {
    const began = performance.now();
    if (began < this.#checkAt) return false;
    const isDamaged = !(await isFine());
    const ended = performance.now();
    this.#checkAt = ended + Math.max(BETWEEN_CHECKS.ms, BETWEEN_CHECKS.times * (ended - began));
    return isDamaged;
  }

  /**
   * What git cannot find out in time does not count as damage, because all pinned commits would go, nor does
   * a fault of a commit.
   */
  async #isSound(signal: AbortSignal | undefined): Promise<boolean> {
    if (!(await fetchedObject(this.#git, this.path))) return false;
    const bearing = this.contents.isPartial ? ['--missing=allow-promisor'] : [];
    const args = [...OFFLINE_PROMISOR, `--git-dir=${this.path}`, 'rev-list', '--objects', '--quiet', ...bearing];
    return await this.#git.run([...args, '--all'], { timeoutMs: CHECK_TIMEOUT_MS, signal }).then(
      () => true,
      (error) => {
        signal?.throwIfAborted();
        return saidNothing(error) || isOfOtherKind(error) || isTooDeep(String(error.cause));
      },
    );
  }

  /** Does no harm where there is a repository already. */
  async #init(idLength: number): Promise<void> {
    const format = idLength === 64 ? 'sha256' : 'sha1';
    const args = ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, this.path];
    await this.#git.run(args).catch((cause) => {
      if (saidNothing(cause)) throw cause;
      const details = { code: 'clone.unusable', reason: 'CloneUnusable', cause };
      throw new TransientError(
        `cannot create a repository in ${this.path} (REPO_PATH): check that it isn't full or read-only`,
        details,
      );
    });
    this.#idLength = idLength;
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
