import type { Range } from 'semver';
import type { Pacer } from '../../shared/io/pacer.ts';
import { isAfter, readRange, readVersionTag, TAGS, type VersionTag } from '../intent/newest-in-range.ts';
import { TAG_COUNT } from '../intent/resolve-ref.ts';

/**
 * Maximum steps in one query: reading a tag, and comparing it with another one or with a part of a range. They take about
 * half a second. Beyond it, ranges that have used more than their share are skipped, and the others have the rest of theirs.
 */
const MAX_STEPS = 2_000_000;
/** Maximum ranges of one query, because reading a long one takes half a millisecond. Further ones are skipped. */
const MAX_RANGES = 200;

/** The newest tag of a range, or of all tags. */
interface Newest {
  /** The different texts of the range. */
  texts: string[];
  range?: Range;
  comparators: number;
  steps: number;
  tag?: VersionTag;
  commit?: string;
}

/** Chooses the newest tag of each range, and the newest of all, while tags stream by. */
export class NewestTags {
  #ranges: Newest[];
  readonly #share: number;
  /** The texts of ranges that are no longer compared. */
  readonly #skipped: string[];
  #steps = 0;
  #tags = 0;
  #last: { name: string; tag: VersionTag | undefined } | undefined;

  /** Texts of the same range are compared once. */
  constructor(texts: readonly string[], read: (text: string) => Range | undefined = readRange) {
    const ranges = new Map<string | undefined, Newest>([[undefined, { texts: [], comparators: 0, steps: 0 }]]);
    for (const text of texts.slice(0, MAX_RANGES)) {
      const range = read(text);
      if (!range) continue;
      const same = ranges.get(range.range);
      if (same) same.texts.push(text);
      else ranges.set(range.range, { texts: [text], range, comparators: range.set.flat().length, steps: 0 });
    }
    this.#ranges = [...ranges.values()];
    this.#skipped = texts.slice(MAX_RANGES);
    this.#share = MAX_STEPS / ranges.size;
  }

  /** Yields to other work while it reads the ranges. */
  static async of(texts: readonly string[], pacer: Pacer): Promise<NewestTags> {
    const ranges = new Map<string, Range | undefined>();
    for (const text of texts.slice(0, MAX_RANGES)) ranges.set(text, await pacer.run(() => readRange(text)));
    return new NewestTags(texts, (text) => ranges.get(text));
  }

  /** Adds a tag. An annotated tag can come a second time with its commit. */
  add(name: string, commit: string): void {
    if (!name.startsWith(TAGS)) return;
    const isAgain = name === this.#last?.name;
    const tag = isAgain ? this.#last?.tag : this.#read(name);
    this.#last = { name, tag };
    if (!tag) return;
    if (isAgain) this.#peel(tag, commit);
    else this.#compare(tag, commit);
  }

  #read(name: string): VersionTag | undefined {
    this.#tags += 1;
    this.#steps += 1;
    return readVersionTag(name);
  }

  #peel(tag: VersionTag, commit: string): void {
    for (const newest of this.#ranges) if (newest.tag === tag) newest.commit = commit;
  }

  #compare(tag: VersionTag, commit: string): void {
    for (const newest of this.#ranges) {
      const isCandidate = !newest.tag || isAfter(tag, newest.tag);
      this.#count(newest, isCandidate ? 1 + newest.comparators : 1);
      if (!isCandidate || newest.range?.test(tag.version) === false) continue;
      newest.tag = tag;
      newest.commit = commit;
    }
    if (this.#steps > MAX_STEPS) this.#skipLarge();
  }

  /** The chosen tags by their full names, the number of all, and the ranges that were skipped. */
  get refs(): Map<string, string> {
    const refs = new Map([[TAG_COUNT, String(this.#tags)]]);
    for (const text of this.#skipped) refs.set(text, '');
    for (const { tag, commit } of this.#ranges) if (tag && commit) refs.set(`${TAGS}${tag.name}`, commit);
    return refs;
  }

  #count(newest: Newest, steps: number): void {
    newest.steps += steps;
    this.#steps += steps;
  }

  /** Skips the ranges that have used more than their share. */
  #skipLarge(): void {
    const isLarge = ({ range, steps }: Newest) => range !== undefined && steps > this.#share;
    const large = this.#ranges.filter(isLarge);
    if (large.length === 0) return;
    this.#skipped.push(...large.flatMap(({ texts }) => texts));
    this.#ranges = this.#ranges.filter((each) => !large.includes(each));
  }
}
