import type { Range } from 'semver';
import { isAfter, readRange, readVersionTag, TAGS, type VersionTag } from '../intent/newest-in-range.ts';
import { TAG_COUNT } from '../intent/resolve-ref.ts';

/**
 * Comparisons of tags with each other and with parts of ranges in one query, between chunks of a response: about half a
 * second of work. Then, ranges that have used more than their share are skipped, and the others have the rest of theirs.
 */
const MAX_COMPARISONS = 2_000_000;

/** The newest tag of a range, or of all tags. */
interface Newest {
  text?: string;
  range?: Range;
  comparators: number;
  comparisons: number;
  isSkipped: boolean;
  tag?: VersionTag;
  commit?: string;
}

/** Chooses the newest tag of each range, and the newest of all, while tags stream by. */
export class NewestTags {
  readonly #ranges: Newest[];
  #comparisons = 0;
  #tags = 0;
  #last: { name: string; tag: VersionTag | undefined } | undefined;

  constructor(texts: readonly string[]) {
    const ranges = texts.flatMap((text) => {
      const range = readRange(text);
      return range ? { text, range, comparators: range.set.flat().length } : [];
    });
    this.#ranges = [{ comparators: 0 }, ...ranges].map((each) => ({ ...each, comparisons: 0, isSkipped: false }));
  }

  /** Adds a tag. An annotated tag can come a second time with its commit. */
  add(name: string, commit: string): void {
    if (!name.startsWith(TAGS)) return;
    const isAgain = name === this.#last?.name;
    const tag = isAgain ? this.#last?.tag : readVersionTag(name);
    if (!isAgain) this.#tags += 1;
    this.#last = { name, tag };
    if (!tag) return;
    if (isAgain) this.#peel(tag, commit);
    else this.#compare(tag, commit);
  }

  #peel(tag: VersionTag, commit: string): void {
    for (const newest of this.#ranges) if (newest.tag === tag) newest.commit = commit;
  }

  #compare(tag: VersionTag, commit: string): void {
    for (const newest of this.#ranges) {
      if (newest.isSkipped) continue;
      const isCandidate = !newest.tag || isAfter(tag, newest.tag);
      this.#count(newest, isCandidate ? 1 + newest.comparators : 1);
      if (!isCandidate || newest.range?.test(tag.version) === false) continue;
      newest.tag = tag;
      newest.commit = commit;
    }
  }

  /** The chosen tags by their full names, the number of all, and the ranges that were skipped. */
  get refs(): Map<string, string> {
    const refs = new Map([[TAG_COUNT, String(this.#tags)]]);
    for (const { text, tag, commit, isSkipped } of this.#ranges) {
      if (isSkipped && text !== undefined) refs.set(text, '');
      else if (tag && commit) refs.set(`${TAGS}${tag.name}`, commit);
    }
    return refs;
  }

  /** Counts comparisons, and skips a range that has used its share of them if there were too many. */
  #count(newest: Newest, comparisons: number): void {
    newest.comparisons += comparisons;
    this.#comparisons += comparisons;
    const share = MAX_COMPARISONS / this.#ranges.length;
    if (newest.range && this.#comparisons > MAX_COMPARISONS && newest.comparisons > share) newest.isSkipped = true;
  }
}
