import { parse, Range, type SemVer } from 'semver';
import { isValidRefName } from '../../shared/domain/check-ref-name.ts';

/** Start of the full name of a tag. */
export const TAGS = 'refs/tags/';

/** A tag that is a version, such as `v1.2.3` or `1.2.3`. */
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

/**
 * Reads the full name of a tag, or a short name; undefined if it isn't a version, or too long for the status. npm ignores
 * white space around a version, but a tag with it isn't the version that it looks like.
 */
export function readVersionTag(ref: string): VersionTag | undefined {
  const name = ref.startsWith(TAGS) ? ref.slice(TAGS.length) : ref;
  const version = /\s/.test(name) ? undefined : parse(name);
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

/** Whether two tags are the same version. */
export function isSameVersion(one = '', other = ''): boolean {
  const version = parse(one);
  return version !== null && parse(other)?.compare(version) === 0;
}

/** Returns the newest tag in a range, or of all tags without one. Other refs are skipped. */
export function newestInRange(refs: Iterable<string>, range?: Range): VersionTag | undefined {
  let newest: VersionTag | undefined;
  for (const ref of refs) {
    const tag = ref.startsWith(TAGS) ? readVersionTag(ref) : undefined;
    if (tag && (!newest || isAfter(tag, newest)) && range?.test(tag.version) !== false) newest = tag;
  }
  return newest;
}
