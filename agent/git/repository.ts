import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import { saidNothing } from '../../shared/io/git/git-process.ts';
import type { Logger } from '../../shared/log.ts';
import { CLONE_VOLUME, onVolume } from '../disk/volume-error.ts';
import { FETCHED_REF, fetchedCommit, fetchedObject } from './fetch-commit.ts';
import { arePacksIntact, CHECK_TIMEOUT_MS, holdsOtherKinds, isOfOtherKind, isTooDeep } from './find-fault.ts';
import { DamagedCloneError } from './git-stream.ts';
import { ownRefs, Pins } from './pins.ts';
import { OFFLINE_PROMISOR } from './promisor.ts';
import { emptyDirectory, healClone } from './tidy-clone.ts';

export interface RepositoryOptions {
  git: Git;
  /** Its directory, which only the agent uses. */
  path: string;
  log: Logger;
}

/** Contents of the repository. */
export interface Contents {
  /** The commit whose objects are complete, except for those omitted on purpose. */
  readonly commit: string | undefined;
  /** Whether files might have been omitted. */
  readonly isPartial: boolean;
}

/**
 * The clone is damaged, the commit is invalid, the object isn't a commit, or objects were lost or never arrived, which
 * only another fetch can determine.
 */
export type Fault = 'clone' | 'commit' | 'noCommit' | 'missing';

const NOTHING: Contents = { commit: undefined, isPartial: false };
/** Minimum time between two checks of all objects: this, or this many times the duration of the last one. */
const BETWEEN_CHECKS = { ms: 60_000, times: 100 };

/** The directory with git's objects: opened, healed, recreated. */
export class Repository {
  readonly path: string;
  readonly pins: Pins;
  readonly #git: Git;
  readonly #log: Logger;
  /** Undefined until it was opened. */
  #contents: Contents | undefined;
  /** Number of hex digits of object IDs. */
  #idLength = 0;
  /** The last commit that the repository was recreated for to free space. */
  #roomFor: string | undefined;
  /** Time of the next permitted check of all objects. */
  #checkAt = Number.NEGATIVE_INFINITY;

  constructor({ git, path, log }: RepositoryOptions) {
    this.#git = git;
    this.path = path;
    this.pins = new Pins(git, path);
    this.#log = log;
  }

  /** Checks whether the commit is the current one or pinned. Runs git only before the first sync. */
  async holds(commit: string): Promise<boolean> {
    const current = this.#contents ? this.#contents.commit : await fetchedCommit(this.#git, this.path);
    return current === commit || (await this.pins.has(commit));
  }

  /**
   * Creates the repository if there is none with the object format of the commit, removes leftovers of a killed git,
   * and returns the contents. Runs git only once.
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

  /** Opens the repository for a lookup; never recreates it. Throws {@link TerminalError} for another object format. */
  async openFor(commit: string): Promise<void> {
    if (!this.#contents) await this.open(commit);
    if (commit.length === this.#idLength) return;
    throw new TerminalError(`commit ${commit} isn't an object ID of this repository (${this.#idLength} hex digits)`, {
      code: 'git.objectFormat',
      reason: 'RefNotFound',
    });
  }

  /**
   * Creates this repository for a lookup. It borrows the objects of another one (`alternates` in
   * gitrepository-layout(5)), and gets copies of its refs and its list of shallow commits: without the list, git would
   * consider the parents of shallow commits missing.
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

  /** Returns the contents if the repository was opened. */
  get contents(): Contents {
    return this.#contents ?? NOTHING;
  }

  /** Removes leftovers of a killed git; no other git must be running in it. */
  async heal(): Promise<void> {
    await healClone(this.path);
  }

  /** Deletes everything and creates an empty repository. */
  async recreate(commit: string): Promise<void> {
    this.#log.warn({ path: this.path }, 'recreating the clone; rolling back now needs the git server');
    this.#contents = undefined;
    this.pins.forget();
    await emptyDirectory(this.path);
    await this.#init(commit.length);
    this.#contents = NOTHING;
  }

  /**
   * Recreates the repository for a commit that doesn't fit, and returns whether it did. Doesn't do it twice in
   * succession for a commit: one that is too large by itself would be fetched twice in each sync.
   */
  async recreateForRoom(commit: string): Promise<boolean> {
    if (this.#roomFor === commit) return false;
    await this.recreate(commit);
    this.#roomFor = commit;
    return true;
  }

  /** Notes that a fetch starts: until it is complete, the contents are unknown. */
  onFetch({ isPartial }: Pick<Contents, 'isPartial'>): void {
    this.#contents = { commit: undefined, isPartial: isPartial || this.contents.isPartial };
  }

  /** Notes that a fetch failed or was for another ref. The previous commit remains, because its ref hasn't moved. */
  async onFetchFailed(): Promise<void> {
    this.#contents = { ...this.contents, commit: await fetchedCommit(this.#git, this.path) };
  }

  /** Notes that a fetch succeeded. */
  onFetched(commit: string): void {
    this.#contents = { ...this.contents, commit };
    if (commit !== this.#roomFor) this.#roomFor = undefined;
  }

  /**
   * Checks whether a fetch failed for an unknown reason because of damage on disk. Checks are rare enough that a git
   * server can't keep the agent busy with them.
   */
  async isToBlame(error: unknown, signal?: AbortSignal): Promise<boolean> {
    if (!(error instanceof TransientError) || error.code !== 'git.unreachable') return false;
    return await this.#finds(() => this.#isSound(signal));
  }

  /** Returns the reason why a fetched commit can't be read. */
  async faultIn(commit: string, signal: AbortSignal): Promise<Fault> {
    if (!(await fetchedCommit(this.#git, this.path)))
      return (await fetchedObject(this.#git, this.path)) ? 'noCommit' : 'clone';
    if (await this.#finds(() => arePacksIntact(this.#git, this.path, signal))) return 'clone';
    const suspect = { gitDir: this.path, commit, refs: ownRefs(commit), signal };
    return (await holdsOtherKinds(this.#git, suspect)) ? 'commit' : 'missing';
  }

  /** Runs a check of everything and returns whether it found damage; skips it shortly after the last one. */
  async #finds(isFine: () => Promise<boolean>): Promise<boolean> {
    const began = performance.now();
    if (began < this.#checkAt) return false;
    const isDamaged = !(await isFine());
    const ended = performance.now();
    this.#checkAt = ended + Math.max(BETWEEN_CHECKS.ms, BETWEEN_CHECKS.times * (ended - began));
    return isDamaged;
  }

  /**
   * Neither a check that git can't finish in time nor a fault of a commit is considered damage, because recreating the
   * clone loses all pinned commits.
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

  /** Harmless if the repository already exists. */
  async #init(idLength: number): Promise<void> {
    const format = idLength === 64 ? 'sha256' : 'sha1';
    const args = ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, this.path];
    await this.#git.run(args).catch((cause) => {
      if (saidNothing(cause)) throw cause;
      throw new TransientError(
        `cannot create a repository in ${this.path} (REPO_PATH): check that it isn't full or read-only`,
        { code: 'clone.unusable', reason: 'CloneUnusable', cause },
      );
    });
    this.#idLength = idLength;
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
