import type { Git } from '../../shared/io/git/git.ts';
import { saidNothing } from '../../shared/io/git/git-process.ts';
import { FETCHED_REF } from './fetch-commit.ts';

/** Each commit has a directory of refs below this one, for itself and for other objects that a rollback to it needs. */
const ROOT = 'refs/sync/pinned';
/** Maximum size of the names and IDs of all refs. The number of pinned commits is limited. */
const MAX_REFS_BYTES = 16 * 1024 * 1024;

/** Returns the ref of the tag object that a commit was verified with. */
export const tagRef = (commit: string): string => `${ROOT}/${commit}/tag`;
/** Returns the ref of a submodule's commit. */
export const moduleRef = (commit: string, module: string): string => `${ROOT}/${commit}/modules/${module}`;
const commitRef = (commit: string): string => `${ROOT}/${commit}/commit`;
/** Returns a pattern for all refs of a commit. */
export const ownRefs = (commit: string): string => `${ROOT}/${commit}/*`;
const ownerOf = (ref: string): string => ref.slice(ROOT.length + 1).split('/', 1)[0] ?? '';

/**
 * The pinned commits of a clone: refs that keep their objects, so that a rollback needs no git server. A pin doesn't
 * make a commit trusted: signatures are checked again.
 */
export class Pins {
  readonly #git: Git;
  readonly #gitDir: string;
  /** A commit that might be delivered next, and earlier ones for rollbacks: they aren't unpinned. */
  candidate: string | undefined;
  earlier: readonly string[] = [];
  /** IDs by their refs; undefined before git was queried. */
  #refs: Map<string, string> | undefined;

  constructor(git: Git, gitDir: string) {
    this.#git = git;
    this.#gitDir = gitDir;
  }

  /** Returns whether the commit is pinned. */
  async has(commit: string): Promise<boolean> {
    return (await this.#read()).get(commitRef(commit)) === commit;
  }

  /** Makes a pinned commit the current one, and returns whether it could. */
  async adopt(commit: string): Promise<boolean> {
    if (!(await this.has(commit))) return false;
    return await this.#run(['update-ref', FETCHED_REF, commit]).then(
      () => true,
      () => false, // damaged: it is fetched again
    );
  }

  /** Unpins all commits but these, the candidate, and those for rollbacks. */
  async unpinOthers(commits: readonly (string | undefined)[]): Promise<void> {
    const needed = [...commits, this.candidate, ...this.earlier];
    await this.#unpin((await this.commits()).filter((commit) => !needed.includes(commit)));
  }

  /** Pins a commit of the clone. */
  async pin(commit: string): Promise<void> {
    await this.#set(commitRef(commit), commit);
  }

  /** Pins a tag of this commit, instead of another one. */
  async pinTag(tag: string, { commit }: { commit: string }): Promise<void> {
    await this.#set(tagRef(commit), tag);
  }

  /** Pins the commit of a submodule for this commit if it is pinned for any, and returns whether it is. */
  async pinModule(module: string, { commit }: { commit: string }): Promise<boolean> {
    const isThere = [...(await this.#read())].some(([ref, id]) => id === module && ref === moduleRef(ownerOf(ref), id));
    if (isThere) await this.#set(moduleRef(commit, module), module);
    return isThere;
  }

  /** Returns the commits with any pins. */
  async commits(): Promise<string[]> {
    return [...new Set([...(await this.#read()).keys()].map(ownerOf))];
  }

  /** Returns the IDs of all pins by their refs. */
  async refs(): Promise<ReadonlyMap<string, string>> {
    return await this.#read();
  }

  /** Starts with an empty repository, so that git isn't queried. */
  begin(): void {
    this.#refs = new Map();
  }

  /** Discards the cached refs, after git wrote refs or the repository was replaced. */
  forget(): void {
    this.#refs = undefined;
  }

  async #set(ref: string, id: string): Promise<void> {
    const refs = await this.#read();
    if (refs.get(ref) === id) return;
    await this.#run(['update-ref', ref, id]);
    refs.set(ref, id);
  }

  async #unpin(commits: readonly string[]): Promise<void> {
    const refs = await this.#read();
    const dropped = [...refs.keys()].filter((ref) => commits.includes(ownerOf(ref)));
    if (dropped.length === 0) return;
    await this.#run(['update-ref', '--stdin'], dropped.map((ref) => `delete ${ref}\n`).join(''));
    for (const ref of dropped) refs.delete(ref);
  }

  async #read(): Promise<Map<string, string>> {
    if (this.#refs) return this.#refs;
    const asking = this.#run(['for-each-ref', '--format=%(refname) %(objectname)', ROOT]);
    const output = await asking.catch((error) => {
      if (saidNothing(error)) throw error;
      return undefined; // a damaged clone has no pins
    });
    if (output === undefined) return new Map();
    const lines = output.split('\n').filter((line) => line !== '');
    this.#refs = new Map(lines.map((line) => line.split(' ') as [string, string]));
    return this.#refs;
  }

  async #run(args: string[], input = ''): Promise<string> {
    const options = { input, maxOutputBytes: MAX_REFS_BYTES };
    return (await this.#git.run([`--git-dir=${this.#gitDir}`, ...args], options)).toString('utf8');
  }
}
