import { parse, Range, type SemVer } from 'semver';
import { isValidRefName } from '../../shared/domain/git/check-ref-name.ts';

/** Start of the full name of a tag. */
export const TAGS = 'refs/tags/';

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

/** Whether two tags with a prefix are the same version. */
export function isSameVersion([one = '', other = '']: (string | undefined)[], prefix: string): boolean {
  const version = readVersionTag(one, prefix)?.version;
  return version !== undefined && readVersionTag(other, prefix)?.version.compare(version) === 0;
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
