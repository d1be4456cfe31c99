import type { Pacer } from '../../shared/io/pacer.ts';
import { answerTooLarge } from './host-errors.ts';
import { NewestTags } from './newest-tags.ts';
import type { FoundRefs } from './query-result.ts';
import { readRangeKey, TAGS } from './version-tags.ts';

/** A query of a repository. */
export interface RefQuery {
  /** Full names of refs. One that ends in a slash stands for all refs below it that point at `commit`. */
  prefixes: readonly string[];
  /** Keys of ranges of versions. The result has the newest tag of each, and the number of tags. */
  ranges?: readonly string[] | undefined;
  /** A full hash. If the repository has that commit, the result has it under its own hash. */
  commit?: string | undefined;
}

/** Prefixes of all branches and tags. */
export const ALL_PREFIXES: readonly string[] = ['refs/heads/', 'refs/tags/'];
/** Maximum names in a query. With more, it requests all branches and tags. */
const MAX_PREFIXES = 2_000;
/** Maximum refs kept because they point at the commit: a repository with more at one commit isn't in real use. */
const MAX_AT_COMMIT = 10_000;
/** Maximum characters of such a ref's name; longer ones can't be followed anyway. */
const MAX_NAME = 1_024;

/** Whether a query is about refs, and not only about a commit. */
export const hasRefs = ({ prefixes, ranges = [] }: RefQuery): boolean => prefixes.length > 0 || ranges.length > 0;

/** The prefixes to send. The server may return more refs than are wanted, but the query stays short. */
export function prefixesToSend({ prefixes, ranges = [] }: RefQuery): readonly string[] {
  if (ranges.length > 0) {
    const tags = tagPrefixes(ranges);
    return [...tags, ...prefixes.filter((prefix) => !tags.some((all) => prefix.startsWith(all)))];
  }
  if (prefixes.length <= MAX_PREFIXES) return prefixes;
  return [...ALL_PREFIXES, ...prefixes.filter((prefix) => !ALL_PREFIXES.some((all) => prefix.startsWith(all)))];
}

/** The beginnings of the names of all tags that ranges need. */
function tagPrefixes(ranges: readonly string[]): readonly string[] {
  const needed = new Set(ranges.map((range) => `${TAGS}${readRangeKey(range).prefix}`));
  return needed.has(TAGS) || needed.size > MAX_PREFIXES ? [TAGS] : [...needed];
}

/** Keeps the refs of a query, and drops all others while they stream by. */
export class WantedRefs {
  readonly #kept = new Map<string, string>();
  readonly #names: ReadonlySet<string>;
  readonly #directories: readonly string[];
  readonly #commit: string | undefined;
  readonly #newestTags: NewestTags | undefined;
  #atCommit = 0;

  constructor({ prefixes, ranges = [], commit }: RefQuery, newestTags = new NewestTags(ranges)) {
    this.#newestTags = ranges.length > 0 ? newestTags : undefined;
    this.#names = new Set(prefixes);
    this.#directories = prefixes.filter((prefix) => prefix.endsWith('/'));
    this.#commit = commit;
  }

  /** Yields to other work while it reads the ranges. */
  static async of(query: RefQuery, pacer: Pacer): Promise<WantedRefs> {
    return new WantedRefs(query, await NewestTags.of(query.ranges ?? [], pacer));
  }

  /** The refs kept so far. */
  get found(): FoundRefs {
    if (!this.#newestTags) return { refs: this.#kept };
    const { refs, tags } = this.#newestTags.found;
    return { refs: new Map([...this.#kept, ...refs]), tags };
  }

  /** Adds a ref. The last commit for a name applies, which is the peeled one of a tag. Throws if there are too many. */
  add(name: string, commit: string): void {
    this.#newestTags?.add(name, commit);
    if (!this.#names.has(name)) {
      if (!this.#isAtCommit(name, commit)) return;
      this.#atCommit += 1;
      if (this.#atCommit > MAX_AT_COMMIT) throw answerTooLarge(`${MAX_AT_COMMIT} refs at the same commit`);
    }
    this.#kept.set(name, commit);
  }

  #isAtCommit(name: string, commit: string): boolean {
    return (
      commit === this.#commit &&
      name.length <= MAX_NAME &&
      this.#directories.some((directory) => name.startsWith(directory))
    );
  }
}
