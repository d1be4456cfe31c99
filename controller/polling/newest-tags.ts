import type { Range } from 'semver';
import type { Pacer } from '../../shared/io/pacer.ts';
import type { FoundRefs, ListedTags } from './query-result.ts';
import {
  isAfter,
  looksNewer,
  readRange,
  readRangeKey,
  readUnreadableTag,
  readVersionTag,
  TAGS,
  tagName,
  type UnreadableTag,
  type VersionTag,
} from './version-tags.ts';

/**
 * Maximum steps in one query: reading a tag, and comparing it with another one, a prefix, or a part of a range. They take
 * about half a second. Beyond it, ranges that have used more than their share are skipped, and the others have the rest of
 * theirs.
 */
const MAX_STEPS = 2_000_000;
/** Maximum ranges of one query, because reading a long one takes half a millisecond. Further ones are skipped. */
const MAX_RANGES = 200;

/** The newest tag of a range, or of all tags with a prefix. */
interface Newest {
  /** The different keys of the range. */
  keys: string[];
  range?: Range;
  comparators: number;
  steps: number;
  tag?: VersionTag;
  commit?: string;
}

/** The ranges that apply to the tags with one prefix. */
interface PrefixedTags {
  prefix: string;
  tags: number;
  /** Steps to compare names with the prefix. */
  steps: number;
  ranges: Newest[];
  /** The tag that isn't a version and looks newest. */
  unreadable?: { tag: UnreadableTag; commit: string };
}

/** Chooses the newest tag of each range, and the newest of all with its prefix, while tags stream by. */
export class NewestTags {
  #groups: PrefixedTags[];
  readonly #share: number;
  /** The keys of ranges that are no longer compared. */
  readonly #skipped: string[];
  #steps = 0;
  #tags = 0;
  #last = '';

  /** Takes the keys of ranges. Those of the same range are compared once. */
  constructor(keys: readonly string[], read: (text: string) => Range | undefined = readRange) {
    const ranges = new Map<string, Newest>();
    const groups = new Map<string, PrefixedTags>();
    for (const key of keys.slice(0, MAX_RANGES)) {
      const { text, prefix } = readRangeKey(key);
      const range = read(text);
      if (!range) continue;
      const group = groups.get(prefix) ?? { prefix, tags: 0, steps: 0, ranges: [newestOf()] };
      const id = JSON.stringify([prefix, range.range]);
      const newest = ranges.get(id) ?? newestOf(range);
      newest.keys.push(key);
      if (!ranges.has(id)) group.ranges.push(newest);
      groups.set(prefix, group);
      ranges.set(id, newest);
    }
    this.#groups = [...groups.values()];
    this.#skipped = keys.slice(MAX_RANGES);
    this.#share = MAX_STEPS / (ranges.size + groups.size);
  }

  /** Yields to other work while it reads the ranges. */
  static async of(keys: readonly string[], pacer: Pacer): Promise<NewestTags> {
    const ranges = new Map<string, Range | undefined>();
    for (const { text } of keys.slice(0, MAX_RANGES).map(readRangeKey))
      ranges.set(text, await pacer.run(() => readRange(text)));
    return new NewestTags(keys, (text) => ranges.get(text));
  }

  /** Adds a tag. An annotated tag can come a second time with its commit. */
  add(ref: string, commit: string): void {
    if (!ref.startsWith(TAGS)) return;
    const name = tagName(ref);
    const isAgain = name === this.#last;
    this.#last = name;
    if (!isAgain) this.#tags += 1;
    for (const group of this.#groups) {
      if (isAgain) peel(group, name, commit);
      else this.#addTo(group, name, commit);
    }
    if (this.#steps > MAX_STEPS) this.#skipLarge();
  }

  #addTo(group: PrefixedTags, name: string, commit: string): void {
    this.#count(group, 1);
    const { prefix, ranges } = group;
    if (!name.startsWith(prefix)) return;
    group.tags += 1;
    const tag = readVersionTag(name, prefix);
    if (tag) this.#compare(ranges, tag, commit);
    else noteUnreadable(group, name, commit);
  }

  #compare(ranges: Newest[], tag: VersionTag, commit: string): void {
    for (const newest of ranges) {
      const isCandidate = !newest.tag || isAfter(tag, newest.tag);
      this.#count(newest, isCandidate ? 1 + newest.comparators : 1);
      if (!isCandidate || newest.range?.test(tag.version) === false) continue;
      newest.tag = tag;
      newest.commit = commit;
    }
  }

  /** The chosen tags, the numbers of tags, and the ranges that were skipped. */
  get found(): FoundRefs & { tags: ListedTags } {
    const refs = new Map<string, string>();
    const counts = new Map([['', this.#tags]]);
    for (const { prefix, tags, ranges, unreadable } of this.#groups) {
      counts.set(prefix, tags);
      for (const { tag, commit } of ranges) if (tag && commit) refs.set(`${TAGS}${tag.name}`, commit);
      if (unreadable) refs.set(`${TAGS}${unreadable.tag.name}`, unreadable.commit);
    }
    return { refs, tags: { counts, skipped: new Set(this.#skipped) } };
  }

  #count(part: { steps: number }, steps: number): void {
    part.steps += steps;
    this.#steps += steps;
  }

  /** Skips the ranges that have used more than their share, and prefixes with which no range is left. */
  #skipLarge(): void {
    const isLarge = ({ range, steps }: Newest) => range !== undefined && steps > this.#share;
    for (const group of this.#groups) {
      const isSkipped = group.prefix !== '' && group.steps > this.#share ? () => true : isLarge;
      const large = group.ranges.filter(isSkipped);
      if (large.length === 0) continue;
      this.#skipped.push(...large.flatMap(({ keys }) => keys));
      group.ranges = group.ranges.filter((each) => !large.includes(each));
    }
    this.#groups = this.#groups.filter(({ prefix, ranges }) => prefix === '' || ranges.some(({ range }) => range));
  }
}

const newestOf = (range?: Range): Newest => {
  const newest = { keys: [], comparators: range?.set.flat().length ?? 0, steps: 0 };
  return range ? { ...newest, range } : newest;
};

/** Replaces the object of an annotated tag with its commit. */
function peel({ ranges, unreadable }: PrefixedTags, name: string, commit: string): void {
  for (const newest of ranges) if (newest.tag?.name === name) newest.commit = commit;
  if (unreadable?.tag.name === name) unreadable.commit = commit;
}

function noteUnreadable(group: PrefixedTags, name: string, commit: string): void {
  const tag = readUnreadableTag(name, group.prefix);
  if (tag && looksNewer(tag, group.unreadable?.tag)) group.unreadable = { tag, commit };
}
