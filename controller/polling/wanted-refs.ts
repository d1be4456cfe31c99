import type { AdvertisedRefs } from '../intent/resolve-ref.ts';
import { answerTooLarge } from './host-errors.ts';

/** What is asked of a repository. */
export interface RefQuery {
  /** Full names of refs; one that ends in a slash stands for all below it that are at one of the commits. */
  prefixes: string[];
  /** Hashes that must be known to exist. */
  commits: string[];
}

/** Beyond so many names a host is asked for all branches and tags instead. */
const MAX_PREFIXES = 2_000;
const ALL_PREFIXES = ['refs/heads/', 'refs/tags/'];
/** Refs below folders that are kept: more at the same few commits are no repository that somebody works with. */
const MAX_BELOW_FOLDERS = 10_000;
/** Names in folders beyond this many characters cannot be followed anyway. */
const MAX_NAME = 1_024;

/** The refs to ask a host for: it may send more than are wanted, but the question stays short. */
export function prefixesToSend(prefixes: string[]): string[] {
  if (prefixes.length <= MAX_PREFIXES) return prefixes;
  return [...ALL_PREFIXES, ...prefixes.filter((prefix) => !ALL_PREFIXES.some((all) => prefix.startsWith(all)))];
}

/** Keeps the refs that somebody asked for, and drops all others while they stream by. */
export class WantedRefs {
  readonly #kept = new Map<string, string>();
  readonly #names: Set<string>;
  readonly #folders: string[];
  readonly #commits: Set<string>;
  #belowFolders = 0;

  constructor({ prefixes, commits }: RefQuery) {
    this.#names = new Set(prefixes);
    this.#folders = prefixes.filter((prefix) => prefix.endsWith('/'));
    this.#commits = new Set(commits);
  }

  /** What was kept so far. */
  get refs(): AdvertisedRefs {
    return this.#kept;
  }

  /** Takes a ref that a host named; the last commit given for a name counts, which is that of the peeled tag. */
  add(name: string, commit: string): void {
    if (this.#names.has(name)) this.#kept.set(name, commit);
    else if (this.#isBelowFolder(name, commit)) {
      this.#belowFolders += 1;
      if (this.#belowFolders > MAX_BELOW_FOLDERS) throw answerTooLarge(`${MAX_BELOW_FOLDERS} refs at the same commits`);
      this.#kept.set(name, commit);
    }
  }

  /** The same where a host cannot be asked for commits: the tip of a branch or of a tag is known to exist. */
  addWithTip(name: string, commit: string): void {
    this.add(name, commit);
    if (this.#commits.has(commit) && ALL_PREFIXES.some((all) => name.startsWith(all))) this.#kept.set(commit, commit);
  }

  #isBelowFolder(name: string, commit: string): boolean {
    return (
      this.#commits.has(commit) && name.length <= MAX_NAME && this.#folders.some((folder) => name.startsWith(folder))
    );
  }
}
