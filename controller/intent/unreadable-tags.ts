import { type Range, SemVer } from 'semver';
import { isValidRefName } from '../../shared/domain/git/check-ref-name.ts';
import { readVersionTag, TAGS, tagName, type VersionTag } from './newest-in-range.ts';

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
export function looksLikeUpdate({ numbers }: UnreadableTag, followed: VersionTag | undefined, range: Range): boolean {
  if (!numbers) return false;
  const [major, minor, patch = 0] = numbers;
  if (!range.test(new SemVer(`${major}.${minor}.${patch}`))) return false;
  const { version } = followed ?? {};
  return !version || compareNumbers(numbers, [version.major, version.minor, version.patch]) > 0;
}

/** Compares lists of numbers from the left. A missing number is less than any other. */
function compareNumbers(one: readonly number[], other: readonly number[]): number {
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const order = (one[at] ?? -1) - (other[at] ?? -1);
    if (order !== 0) return order;
  }
  return 0;
}
