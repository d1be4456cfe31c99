import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { TransientError } from '../../shared/errors.ts';
import type { Git, GitAccess } from '../../shared/io/git/git.ts';
import type { Logger } from '../../shared/log.ts';
import type { TreeEntry } from '../domain/desired-tree.ts';
import { BlobReader } from './blob-reader.ts';
import { type CommitSource, FETCHED_REF, FETCHED_TAG, fetchCommit, fetchedCommit, fetchTag } from './fetch-commit.ts';
import { emptyFolder, healClone } from './heal-clone.ts';
import { readTree } from './read-tree.ts';

/** So many packs, one of each fetch, are merged into one. */
const MAX_PACKS = 30;

/** What git says of a repository in which something is missing, be it that a killed git still wrote to it. */
const damage =
  /did not send all necessary objects|Failed to traverse|bad object|not a valid object|object .* corrupt|packfile .* (corrupt|cannot)|shallow file has changed/i;

export interface CloneOptions {
  git: Git;
  /** Folder of the repository; it is the agent's alone. */
  path: string;
  log: Logger;
}

/** The bare repository on disk: the last commit without history, no work tree, no remote, no credentials. */
export class Clone {
  readonly #git: Git;
  readonly #path: string;
  readonly #log: Logger;
  #fetched: string | undefined;
  #isOpen = false;
  /** Whether the repository was found sound, or worked, since the last failure. */
  #isTrusted = false;
  #tree: { key: string; entries: TreeEntry[] } | undefined;

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

  /** Fetches the commit. Throws what the git runner throws. */
  async fetch(source: CommitSource, access: GitAccess, signal?: AbortSignal): Promise<void> {
    if (!this.#isOpen) await this.#open(source.commit);
    await healClone(this.#path);
    const options = { gitDir: this.#path, access, signal };
    this.#fetched = undefined;
    try {
      await fetchCommit(this.#git, source, options);
    } catch (error) {
      if (!(await this.#mayBeOurFault(error))) throw error;
      await this.recreate(source.commit);
      await fetchCommit(this.#git, source, options);
    }
    this.#fetched = source.commit;
    this.#isTrusted = true;
  }

  /** Fetches the object of the tag that the source's ref names. */
  async fetchTag(source: CommitSource, access: GitAccess, signal?: AbortSignal): Promise<void> {
    await healClone(this.#path);
    await fetchTag(this.#git, source, { gitDir: this.#path, access, signal });
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

  /** The files of a commit below the sources; the last answer is remembered. */
  async tree(commit: string, sources: string[]): Promise<TreeEntry[]> {
    const key = JSON.stringify([commit, sources]);
    if (this.#tree?.key !== key) {
      this.#tree = { key, entries: await readTree(this.#git, { gitDir: this.#path, commit, sources }) };
    }
    return this.#tree.entries;
  }

  blobs(): BlobReader {
    return new BlobReader(this.#git, this.#path);
  }

  /** Deletes everything and starts from nothing. */
  async recreate(commit: string): Promise<void> {
    this.#log.warn({ path: this.#path }, 'clone is made anew');
    this.#tree = undefined;
    this.#fetched = undefined;
    await emptyFolder(this.#path);
    await this.#init(commit);
    this.#isTrusted = true;
  }

  /** Merges the packs of many fetches and drops what no longer belongs to the last commit. */
  async tidy(): Promise<void> {
    const names = await readdir(join(this.#path, 'objects/pack'));
    if (names.filter((name) => name.endsWith('.pack')).length < MAX_PACKS) return;
    const small = ['-c', 'pack.threads=1', '-c', 'pack.windowMemory=16m', '-c', 'core.bigFileThreshold=1m'];
    await this.#local([...small, 'repack', '-a', '-d', '-q']);
    await this.#local(['prune', '--expire=now']);
  }

  async #open(commit: string): Promise<void> {
    await mkdir(this.#path, { recursive: true });
    await healClone(this.#path);
    await this.#init(commit).catch(() => this.recreate(commit));
    this.#fetched = await fetchedCommit(this.#git, this.#path);
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
    const check = this.#local(['rev-list', '--objects', '--quiet', FETCHED_REF]);
    this.#isTrusted = await check.then(
      () => true,
      () => false,
    );
    return !this.#isTrusted;
  }

  async #read(args: string[]): Promise<string> {
    return (await this.#git.run([`--git-dir=${this.#path}`, ...args])).toString('utf8').trim();
  }

  async #local(args: string[]): Promise<void> {
    await this.#git.run([`--git-dir=${this.#path}`, ...args], { timeoutMs: 300_000 });
  }
}
