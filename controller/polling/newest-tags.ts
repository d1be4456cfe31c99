import type { Range } from 'semver';
import { isAfter, readRange, readVersionTag, TAGS, type VersionTag } from '../intent/newest-in-range.ts';
import { TAG_COUNT } from '../intent/resolve-ref.ts';
import { tooManyComparisons } from './host-errors.ts';

/** Maximum comparisons of a tag with a part of a range in one query: about a second of work, between chunks of a response. */
const MAX_COMPARISONS = 1_000_000;

interface Newest {
  range: Range | undefined;
  tag?: VersionTag;
  commit?: string;
}

/** Chooses the newest tag of each range, and the newest of all, while tags stream by. */
export class NewestTags {
  readonly #ranges: Newest[];
  readonly #comparisonsPerTag: number;
  #comparisons = 0;
  #count = 0;
  #last = '';

  constructor(texts: readonly string[]) {
    const ranges = texts.map(readRange).filter((range) => range !== undefined);
    this.#ranges = [undefined, ...ranges].map((range) => ({ range }));
    this.#comparisonsPerTag = ranges.reduce((sum, { set }) => sum + set.flat().length, 1);
  }

  /** Adds a tag. An annotated tag comes a second time with its commit. */
  add(name: string, commit: string): void {
    if (!name.startsWith(TAGS)) return;
    if (name !== this.#last) this.#count += 1;
    this.#last = name;
    const tag = readVersionTag(name);
    if (!tag) return;
    this.#comparisons += this.#comparisonsPerTag;
    if (this.#comparisons > MAX_COMPARISONS) throw tooManyComparisons(this.#count);
    for (const newest of this.#ranges) {
      const isCandidate = !newest.tag || newest.tag.name === tag.name || isAfter(tag, newest.tag);
      if (!isCandidate || newest.range?.test(tag.version) === false) continue;
      newest.tag = tag;
      newest.commit = commit;
    }
  }

  /** The chosen tags by their full names, and the number of all. */
  get refs(): Map<string, string> {
    const refs = new Map([[TAG_COUNT, String(this.#count)]]);
    for (const { tag, commit } of this.#ranges) if (tag && commit) refs.set(`${TAGS}${tag.name}`, commit);
    return refs;
  }
}
