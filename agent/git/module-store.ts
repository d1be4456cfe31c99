import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import { type FetchOptions, fetchedCommit, fetchOne } from './fetch-commit.ts';
import { faultOfFetch } from './find-fault.ts';
import { moduleRef, type Pins } from './pins.ts';
import { healClone } from './tidy-clone.ts';

/** A commit of a submodule, where it comes from, and the commit that it is for. */
export interface ModuleSource {
  repo: string;
  commit: string;
  parent: string;
  /** Time for its fetch, in milliseconds. */
  fetchTimeoutMs?: number | undefined;
}

/** Bytes of a `.gitmodules`, and of its settings as git tells them: each with the whole name of its submodule. */
const MAX_GITMODULES = 1024 * 1024;

/** Commits of submodules, in the same clone as the commit that they belong to: content is read from one place. */
export class ModuleStore {
  readonly #git: Git;
  readonly #gitDir: string;
  readonly #pins: Pins;

  constructor(git: Git, gitDir: string, pins: Pins) {
    this.#git = git;
    this.#gitDir = gitDir;
    this.#pins = pins;
  }

  /** Fetches one commit, with its files and without history. Throws {@link TerminalError} where it is none. */
  async fetch(
    { commit, parent, ...source }: ModuleSource,
    { access, signal }: Pick<FetchOptions, 'access' | 'signal'>,
  ): Promise<void> {
    await healClone(this.#gitDir);
    // Another repository than the one that everything else is from, so nothing that is there can be of use.
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

  /** URLs of submodules by their paths, as the content of a `.gitmodules` has them (gitmodules(5)). Throws {@link TerminalError}. */
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
