import { parse, Range, SemVer } from 'semver';
import { isValidRefName } from '../../shared/domain/git/check-ref-name.ts';

/** Start of the full name of a tag. */
export const TAGS = 'refs/tags/';

/** A range of versions, and the prefix of the tags that it applies to, which can be empty. */
export interface TagRange {
  text: string;
  prefix: string;
}

/** Identifies a range in a query. Neither part contains a line break. */
export const rangeKey = ({ text, prefix }: TagRange): string => (prefix === '' ? text : `${prefix}\n${text}`);

/** The range that a key identifies. */
export function readRangeKey(key: string): TagRange {
  const at = key.indexOf('\n');
  return { text: key.slice(at + 1), prefix: key.slice(0, Math.max(at, 0)) };
}

/** A range in a message. */
export const describeRange = ({ text, prefix }: TagRange): string =>
  prefix === '' ? `the range ${text}` : `the range ${text} with the prefix ${prefix}`;

/** A tag that is a version after its prefix, such as `v1.2.3`, `1.2.3`, or `site-v1.2.3` with the prefix `site-`. */
export interface VersionTag {
  /** Short name, as the repository has it. */
  name: string;
  version: SemVer;
}

/** Reads a range as npm does; undefined if it isn't one. */
export function readRange(text: string): Range | undefined {
  try {
    return new Range(text);
  } catch {
    return undefined;
  }
}

/** The short name of a tag. */
export const tagName = (ref: string): string => (ref.startsWith(TAGS) ? ref.slice(TAGS.length) : ref);

/**
 * Reads the full name of a tag, or a short name; undefined if it isn't a version after the prefix, or too long for the
 * status. npm ignores white space around a version, but a tag with it isn't the version that it looks like.
 */
export function readVersionTag(ref: string, prefix: string): VersionTag | undefined {
  const name = tagName(ref);
  if (!name.startsWith(prefix) || /\s/.test(name)) return undefined;
  const version = parse(name.slice(prefix.length));
  return version && isValidRefName(name) ? { name, version } : undefined;
}

/**
 * Whether a tag comes after another one. Build metadata doesn't count, and neither does a leading `v`: of two tags with
 * the same version, the one whose name sorts last comes after the other, so that all queries choose the same one.
 */
export function isAfter(one: VersionTag, other: VersionTag): boolean {
  const order = one.version.compare(other.version);
  return order > 0 || (order === 0 && one.name > other.name);
}

/** Returns the newest tag with a prefix, in a range if there is one. Other refs are skipped. */
export function newestInRange(refs: Iterable<string>, prefix: string, range?: Range): VersionTag | undefined {
  let newest: VersionTag | undefined;
  for (const ref of refs) {
    const tag = ref.startsWith(TAGS) ? readVersionTag(ref, prefix) : undefined;
    if (tag && (!newest || isAfter(tag, newest)) && range?.test(tag.version) !== false) newest = tag;
  }
  return newest;
}

/** A tag that isn't a version, but can look like one. */
export interface UnreadableTag {
  /** Short name. */
  name: string;
  /** At least two numbers at the beginning, if it has them. */
  numbers: number[] | undefined;
}

/** Reads a tag that isn't a version; undefined for a tag of another prefix, and for a name that can't be followed. */
export function readUnreadableTag(ref: string, prefix: string): UnreadableTag | undefined {
  const name = tagName(ref);
  if (!name.startsWith(prefix) || !isValidRefName(name)) return undefined;
  const [, digits] = /^[vV]?(\d{1,15}(?:\.\d{1,15})+)/.exec(name.slice(prefix.length)) ?? [];
  return { name, numbers: digits?.split('.').map(Number) };
}

/** Whether a tag looks newer than another one. */
export const looksNewer = (one: UnreadableTag, other: UnreadableTag | undefined): boolean =>
  !other || compareNumbers(one.numbers ?? [], other.numbers ?? []) > 0;

/** Returns the tag with a prefix that isn't a version and looks newest. */
export function newestUnreadable(refs: Iterable<string>, prefix: string): UnreadableTag | undefined {
  let newest: UnreadableTag | undefined;
  for (const ref of refs) {
    const isUnreadable = ref.startsWith(TAGS) && !readVersionTag(ref, prefix);
    const tag = isUnreadable ? readUnreadableTag(ref, prefix) : undefined;
    if (tag && looksNewer(tag, newest)) newest = tag;
  }
  return newest;
}

/** Whether a tag that isn't a version looks as if it should be followed instead of another one. */
export function looksLikeUpdate({ numbers }: UnreadableTag, { version }: VersionTag, range: Range): boolean {
  if (!numbers) return false;
  const [major, minor, patch = 0] = numbers;
  if (!range.test(new SemVer(`${major}.${minor}.${patch}`))) return false;
  return compareNumbers(numbers, [version.major, version.minor, version.patch]) > 0;
}

/** Compares lists of numbers from the left. A missing number is less than any other. */
function compareNumbers(one: readonly number[], other: readonly number[]): number {
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const order = (one[at] ?? -1) - (other[at] ?? -1);
    if (order !== 0) return order;
  }
  return 0;
}
