import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import { type FetchOptions, fetchedCommit, fetchOne } from './fetch-commit.ts';
import { faultOfFetch } from './find-fault.ts';
import { moduleRef, type Pins } from './pins.ts';
import { healClone } from './tidy-clone.ts';

/** A commit of a submodule, its repository, and the commit that refers to it. */
export interface ModuleSource {
  repo: string;
  commit: string;
  parent: string;
  /** Time limit for its fetch (ms). */
  fetchTimeoutMs?: number | undefined;
}

/** Maximum size of a `.gitmodules` (bytes), and of git's list of its settings, which repeat the submodule's name. */
const MAX_GITMODULES = 1024 * 1024;

/** Commits of submodules, in the same clone as the commits that refer to them, so that content has one source. */
export class ModuleStore {
  readonly #git: Git;
  readonly #gitDir: string;
  readonly #pins: Pins;

  constructor(git: Git, gitDir: string, pins: Pins) {
    this.#git = git;
    this.#gitDir = gitDir;
    this.#pins = pins;
  }

  /** Fetches one commit, with its files and without history. Throws {@link TerminalError} if it isn't a commit. */
  async fetch(
    { commit, parent, ...source }: ModuleSource,
    { access, signal }: Pick<FetchOptions, 'access' | 'signal'>,
  ): Promise<void> {
    await healClone(this.#gitDir);
    // The submodule is another repository, so existing objects are of no use.
    const whole = { isPartial: true, filter: undefined, isRefetch: true };
    this.#pins.forget();
    const to = moduleRef(parent, commit);
    const options = { gitDir: this.#gitDir, access, signal, ...whole };
    await fetchOne(this.#git, { ...source, name: commit, to }, options).catch((error) => {
      throw faultOfFetch(error, commit);
    });
    if ((await fetchedCommit(this.#git, this.#gitDir, to)) === commit) return;
    await this.#run(['update-ref', '-d', to]);
    throw noCommit(commit);
  }

  /** Returns the URLs in a `.gitmodules` blob (gitmodules(5)) by submodule path. Throws {@link TerminalError}. */
  async urls(blob: string): Promise<Map<string, string>> {
    if (Number(await this.#run(['cat-file', '-s', blob])) > MAX_GITMODULES) throw unusable('is too large');
    const text = await this.#run(['config', `--blob=${blob}`, '-z', '--list']).catch((error) => {
      if (error instanceof TransientError && error.code === 'git.tooMuchOutput') throw unusable('is too large');
      if (error instanceof TransientError && error.code === 'git.unreachable') throw unusable('cannot be read');
      throw error;
    });
    const records = text.split('\0');
    const modules = new Map<string, { path?: string; url?: string }>();
    for (const record of records) {
      const [, name, key, value] = /^submodule\.([\s\S]*?)\.(path|url)\n([\s\S]*)$/.exec(record) ?? [];
      if (name !== undefined && key) modules.set(name, { ...modules.get(name), [key]: value });
    }
    return new Map([...modules.values()].flatMap(({ path, url }) => (path && url ? [[path, url] as const] : [])));
  }

  async #run(args: string[]): Promise<string> {
    const options = { maxOutputBytes: MAX_GITMODULES };
    return (await this.#git.run([`--git-dir=${this.#gitDir}`, ...args], options)).toString('utf8');
  }
}

const noCommit = (id: string) =>
  new TerminalError(`it points at ${id}, which isn't a commit`, {
    code: 'submodule.refused',
    reason: 'SubmoduleInvalid',
  });

const unusable = (what: string) =>
  new TerminalError(`.gitmodules ${what}: it must be at most 1 MiB, in the format of gitmodules(5)`, {
    code: 'submodule.refused',
    reason: 'SubmoduleInvalid',
  });
