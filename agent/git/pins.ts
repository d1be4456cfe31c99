import type { Git } from '../../shared/io/git/git.ts';
import { saidNothing } from '../../shared/io/git/git-process.ts';
import { FETCHED_REF } from './fetch-commit.ts';

/** Each commit has a directory of refs below it, for itself and for what else a rollback to it needs. */
const ROOT = 'refs/sync/pinned';
/** Maximum size of the names and ids of all refs. The number of pinned commits has a limit. */
const MAX_REFS_BYTES = 16 * 1024 * 1024;

/** The ref of the tag object by which a commit was verified. */
export const tagRef = (commit: string): string => `${ROOT}/${commit}/tag`;
/** The ref of a commit of a submodule. */
export const moduleRef = (commit: string, module: string): string => `${ROOT}/${commit}/modules/${module}`;
const commitRef = (commit: string): string => `${ROOT}/${commit}/commit`;
/** A pattern for all refs of a commit. */
export const ownRefs = (commit: string): string => `${ROOT}/${commit}/*`;
const ownerOf = (ref: string): string => ref.slice(ROOT.length + 1).split('/', 1)[0] ?? '';

/**
 * The pinned commits of a clone, so that a rollback to one of them needs no git server: refs, which hold the objects.
 * A pin doesn't allow a commit to be used: signatures are checked again.
 */
export class Pins {
  readonly #git: Git;
  readonly #gitDir: string;
  /** Ids by their refs; undefined before git was asked. */
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
      () => false, // damaged: it comes from the host again
    );
  }

  /** Unpins all commits but these. */
  async unpinOthers(commits: readonly string[]): Promise<void> {
    await this.#unpin((await this.commits()).filter((commit) => !commits.includes(commit)));
  }

  /** Pins a commit that is there. */
  async pin(commit: string): Promise<void> {
    await this.#set(commitRef(commit), commit);
  }

  /** Pins the commit of a submodule for this commit if it is pinned for any, and returns whether it is. */
  async pinModule(module: string, { commit }: { commit: string }): Promise<boolean> {
    const isThere = [...(await this.#read())].some(([ref, id]) => id === module && ref === moduleRef(ownerOf(ref), id));
    if (isThere) await this.#set(moduleRef(commit, module), module);
    return isThere;
  }

  /** Commits of which something is pinned. */
  async commits(): Promise<string[]> {
    return [...new Set([...(await this.#read()).keys()].map(ownerOf))];
  }

  /** Returns the ids of all pins by their refs. */
  async refs(): Promise<ReadonlyMap<string, string>> {
    return await this.#read();
  }

  /** The repository is empty: git does not have to be asked. */
  begin(): void {
    this.#refs = new Map();
  }

  /** Git wrote refs, or the repository is another one. */
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
