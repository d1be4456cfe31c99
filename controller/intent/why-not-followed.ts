import { isCommitHash } from '../../shared/domain/git/check-ref-name.ts';
import { describeRange, readVersionTag, TAGS, tagName, type VersionTag } from '../polling/version-tags.ts';
import { describeFlaw } from './describe-flaw.ts';
import type { Followed } from './followed.ts';
import type { Ending } from './outcomes.ts';
import type { RangeContext } from './range-context.ts';

type IgnoredReason = NonNullable<Ending['reason']>;

/** Why a request or a push isn't what `spec.git.semver` follows. */
interface NotFollowed {
  reason: IgnoredReason;
  message: string;
}

/** Explains why a ref isn't followed with `spec.git.semver`. */
export function whyNotFollowed(ref: string, context: RangeContext, followed: Followed | undefined): NotFollowed {
  const { text, prefix, range } = context;
  const present = followedWords(context, followed);
  const because = (reason: IgnoredReason, words: string) => ({ reason, message: `${words}; ${present}` });
  if (ref === text || !mayBeTag(ref)) return { reason: 'NotATag', message: present };
  const name = tagName(ref);
  if (!name.startsWith(prefix)) return because('OtherPrefix', `${name} doesn't begin with ${prefix}`);
  const asked = readVersionTag(name, prefix);
  if (!asked) return because('NotAVersion', `${name} isn't a version, because ${describeFlaw(name, prefix)}`);
  if (!range.test(asked.version)) return because('OutOfRange', `${name} isn't in the range ${text}${advice(asked)}`);
  const current = followed && readVersionTag(followed.winner.target.ref, prefix);
  if (current && asked.version.compare(current.version) <= 0) return { reason: 'NotNewest', message: present };
  return because('TagNotFound', `the repository doesn't have the tag ${name}`);
}

/** A short name can be a branch as well, which makes no difference. */
const mayBeTag = (ref: string): boolean =>
  ref.startsWith(TAGS) || !(ref === 'HEAD' || ref.startsWith('refs/') || isCommitHash(ref));

const advice = ({ version }: VersionTag): string =>
  version.prerelease.length > 0 ? ', because prereleases count only if the range names one' : '';

/** What is followed with `spec.git.semver`. */
export function followedWords(context: RangeContext, followed: Followed | undefined): string {
  const range = describeRange(context);
  const field = context.prefix === '' ? 'spec.git.semver' : 'spec.git.semver and spec.git.tagPrefix';
  if (!followed) return `only tags in ${range} (${field}) are followed, and the repository has none`;
  return `${followed.winner.target.ref} is followed, the newest tag in ${range} (${field})`;
}
