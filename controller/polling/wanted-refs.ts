import { TransientError } from '../../shared/errors.ts';
import type { AdvertisedRefs } from '../intent/resolve-ref.ts';
import { answerTooLarge } from './host-errors.ts';

/** What is asked of a repository. */
export interface RefQuery {
  /** Full names of refs; one that ends in a slash stands for all below it that are at one of the commits. */
  prefixes: string[];
  /** Hashes that must be known to exist. */
  commits: string[];
  /** Refs at most that come only because a name is the beginning of theirs; undefined: any number. */
  maxSurplus?: number;
}

/** An answer holds too many refs that only begin like names that were asked for. */
export class SurplusError extends TransientError {
  /** How many there were, at least, for each name that brought some. */
  readonly surplus: ReadonlyMap<string, number>;

  constructor(surplus: ReadonlyMap<string, number>, max: number) {
    const { message, code, reason } = answerTooLarge(`${max} refs that nobody asked for`);
    super(message, { code, reason });
    this.surplus = surplus;
  }
}

/** Beyond so many names a host is asked for all branches and tags instead. */
export const MAX_PREFIXES = 2_000;
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
  readonly #surplus: Surplus | undefined;
  #belowFolders = 0;

  constructor({ prefixes, commits, maxSurplus }: RefQuery) {
    this.#names = new Set(prefixes);
    this.#folders = prefixes.filter((prefix) => prefix.endsWith('/'));
    this.#commits = new Set(commits);
    // Where a host is asked for all branches and tags, no name is to blame for what it sends.
    if (maxSurplus !== undefined && prefixes.length <= MAX_PREFIXES)
      this.#surplus = new Surplus(this.#names, maxSurplus);
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
    } else this.#surplus?.count(name);
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

/** Counts refs that nobody asked for by the names with which they begin. */
class Surplus {
  readonly #names: ReadonlySet<string>;
  readonly #lengths: number[];
  readonly #max: number;
  readonly #counts = new Map<string, number>();
  #total = 0;

  constructor(names: ReadonlySet<string>, max: number) {
    this.#names = names;
    this.#lengths = [...new Set(Array.from(names, ({ length }) => length))];
    this.#max = max;
  }

  count(ref: string): void {
    const beginnings = this.#lengths.flatMap((length) => {
      const beginning = ref.slice(0, length);
      return this.#names.has(beginning) ? [beginning] : [];
    });
    for (const name of beginnings) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    if (beginnings.length > 0) this.#total += 1;
    if (this.#total > this.#max) throw new SurplusError(this.#counts, this.#max);
  }
}
