/** A number without leading zeros that npm accepts in a version, in RE2. */
const NUMBER = '(0|[1-9][0-9]{0,14})';
const PRERELEASE = '(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)';
const BUILD = '[0-9A-Za-z-]+';

/** Three numbers with an optional prerelease and build, or fewer numbers, with or without placeholders after them. */
const VERSION = [
  `v?(${NUMBER}[.]${NUMBER}[.]${NUMBER}(-${PRERELEASE}([.]${PRERELEASE})*)?([+]${BUILD}([.]${BUILD})*)?`,
  `${NUMBER}[.]${NUMBER}([.][xX*])?`,
  `${NUMBER}([.][xX*]){0,2}`,
  '[xX*]([.][xX*]){0,2})',
].join('|');

const COMPARATOR = `(~>?|\\^|[<>]?=?) *${VERSION}`;

/** One alternative of a range: comparators next to each other, or two versions with a hyphen between them. */
const ALTERNATIVE = `( *${VERSION} +- +${VERSION} *| *${COMPARATOR}( +${COMPARATOR})* *)`;

/** Ranges that npm's `semver` can read, without spellings whose prerelease or build it would ignore, in RE2. */
export const VERSION_RANGE = `^${ALTERNATIVE}([|][|]${ALTERNATIVE})*$`;
