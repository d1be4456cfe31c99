import { Range } from 'semver';
import type { Problem } from '../../shared/api/reasons.ts';
import { answersRange } from '../../shared/domain/git/answers-range.ts';
import { isCommitHash } from '../../shared/domain/git/check-ref-name.ts';
import { parseDuration } from '../../shared/domain/text/duration.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { type FoundRefs, MANY_TAGS, tagTotal } from '../polling/query-result.ts';
import {
  describeRange,
  looksLikeUpdate,
  newestInRange,
  newestUnreadable,
  readVersionTag,
  TAGS,
  tagName,
  type VersionTag,
} from '../polling/version-tags.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { describeFlaw } from './describe-flaw.ts';
import type { Intents, OpenIntent } from './intents.ts';
import {
  type Followed,
  nextQueryInMs,
  type Outcome,
  outcomesOf,
  type Resolved,
  type Unresolved,
  unresolved,
} from './resolution.ts';

/** A resource with `spec.git.semver`, and the refs of its repository. */
type RangeContext = NonNullable<Intents['range']> & {
  gatewaySync: ObservedGatewaySync;
  intents: Intents;
  found: FoundRefs;
  now: number;
};

/**
 * Follows the newest tag in the range. It never goes back to an older tag while the range and the repository stay the
 * same: if the tag that is followed is deleted, its commit stays until the range has that version or a newer one. A
 * request and a push only trigger a query, and neither chooses the tag.
 */
export function followRange(context: RangeContext): Resolved | Unresolved {
  const { text, intents, now } = context;
  // The CRD refuses text that npm can't read.
  const range = new Range(text);
  const followed = chooseTag(context, range);
  const { echo, requeryInMs } = outcomesOf(intents, now, (asked) => outcomeOf(asked, context, range, followed));
  const outcomes = { echo: { ...displacedBy(context, followed), ...echo }, requeryInMs };
  return followed ? { kind: 'resolved', followed, ...outcomes } : unresolved(noMatchingTag(context), outcomes);
}

function chooseTag(context: RangeContext, range: Range): Followed | undefined {
  const { gatewaySync, intents, text, prefix, keptTag, found } = context;
  const newest = newestInRange(found.refs.keys(), prefix, range);
  const kept = keptTag === undefined ? undefined : readVersionTag(keptTag, prefix);
  const isKeptThere = kept !== undefined && found.refs.has(`${TAGS}${kept.name}`);
  const isNewer = newest && (!kept || newest.version.compare(kept.version) >= (isKeptThere ? 1 : 0));
  const tag = isNewer ? newest : kept;
  const commit = tag && (found.refs.get(`${TAGS}${tag.name}`) ?? gatewaySync.status.lastSyncCommit);
  if (!tag || commit === undefined) return undefined;
  const tagPrefix = prefix === '' ? undefined : prefix;
  const target = withoutUndefined({ ref: tag.name, range: text, tagPrefix, source: 'Spec' as const });
  return {
    winner: { target, at: intents.edit.at },
    resolved: { commit, qualifiedRef: `${TAGS}${tag.name}`, ambiguous: false },
    chosen: describeChoice(context, range, { tag, commit, isDeleted: !isNewer && !isKeptThere }),
  };
}

interface Choice {
  tag: VersionTag;
  commit: string;
  /** The tag no longer exists, and no newer one does. */
  isDeleted: boolean;
}

function describeChoice(context: RangeContext, range: Range, { tag, commit, isDeleted }: Choice): Problem {
  const words = describeRange(context);
  const notes = `${missedWords(context, range, tag)}${slowedWords(context)}`;
  if (!isDeleted)
    return { reason: 'Resolved', message: `${tag.name}, the newest tag in ${words}, is ${commit}${notes}` };
  return {
    reason: 'TagDeleted',
    message: `the repository no longer has the tag ${tag.name}, and no newer one in ${words}: ${commit} stays in place; push a newer tag, or edit spec.git.semver to choose another${notes}`,
  };
}

/** The end of a message if the repository has a tag that looks newer than the followed one, but isn't a version. */
function missedWords({ prefix, found }: RangeContext, range: Range, followed: VersionTag): string {
  const tag = newestUnreadable(found.refs.keys(), prefix);
  if (!tag || !looksLikeUpdate(tag, followed, range)) return '';
  return `; the tag ${tag.name} isn't followed, because ${describeFlaw(tag.name, prefix)}`;
}

/** The end of a message about a resource that is polled less often than its interval; empty otherwise. */
function slowedWords({ gatewaySync: { spec }, found }: RangeContext): string {
  const { enabled, interval } = spec.polling;
  const isShort = (parseDuration(interval) ?? 0) < MANY_TAGS.intervalMs;
  if (!enabled || !isShort || tagTotal(found) <= MANY_TAGS.tags) return '';
  return `; the repository has more than ${MANY_TAGS.tags} tags, so it is polled every 5m and not every ${interval}`;
}

function noMatchingTag(context: RangeContext): Problem {
  const { prefix, found } = context;
  const field = prefix === '' ? 'spec.git.semver' : 'spec.git.semver or spec.git.tagPrefix';
  const remedy = `push a tag, or change ${field}${slowedWords(context)}`;
  const count = found.tags?.counts.get(prefix) ?? 0;
  const tags = `${count || 'no'} ${count === 1 ? 'tag' : 'tags'}${prefix === '' ? '' : ` with the prefix ${prefix}`}`;
  const failure = `no tag is in ${describeRange(context)}: the repository has ${tags}`;
  const newest = newestInRange(found.refs.keys(), prefix);
  if (newest)
    return { reason: 'NoMatchingTag', message: `${failure}, and the newest version is ${newest.name}; ${remedy}` };
  if (count === 0) return { reason: 'NoMatchingTag', message: `${failure}; ${remedy}` };
  const tag = newestUnreadable(found.refs.keys(), prefix);
  const example = tag ? ` (${tag.name} isn't one, because ${describeFlaw(tag.name, prefix)})` : '';
  const message = `${failure}, and none is a version such as ${prefix}v1.2.3${example}; ${remedy}`;
  return { reason: 'NoVersionTag', message };
}

/** Returns the applied request if its tag is no longer followed. */
function displacedBy(context: RangeContext, followed: Followed | undefined): Resolved['echo'] {
  const { lastRequest } = context.gatewaySync.status;
  if (lastRequest?.outcome !== 'Applied' || !followed || isFollowed(lastRequest.ref, followed)) return {};
  return { lastRequest: { ...lastRequest, outcome: 'Superseded', message: followedWords(context, followed) } };
}

const isFollowed = (ref: string, { winner, resolved }: Followed): boolean =>
  answersRange(ref, winner.target, resolved.commit);

/** Returns the outcome of a new request or push. */
function outcomeOf(
  { ref, ignored, madeAt }: OpenIntent,
  context: RangeContext,
  range: Range,
  followed: Followed | undefined,
): Outcome {
  if (ignored) return { outcome: 'Ignored', message: ignored };
  if (followed && isFollowed(ref, followed)) return { outcome: 'Applied' };
  const cause = whyNotFollowed(ref, context, range, followed);
  if (cause.reason !== 'TagNotFound' || nextQueryInMs(madeAt, context.now) === undefined)
    return { outcome: 'Ignored', ...cause };
  const message = `the repository doesn't have the tag ${ref} yet: it is queried again for up to a minute, because some git servers send webhooks before they show a tag`;
  return { outcome: 'Pending', message };
}

function whyNotFollowed(ref: string, context: RangeContext, range: Range, followed: Followed | undefined) {
  const { text, prefix } = context;
  const present = followedWords(context, followed);
  const because = (reason: NonNullable<Outcome['reason']>, words: string) => ({
    reason,
    message: `${words}; ${present}`,
  });
  if (ref === text || !mayBeTag(ref)) return { reason: 'NotATag' as const, message: present };
  const name = tagName(ref);
  if (!name.startsWith(prefix)) return because('OtherPrefix', `${name} doesn't begin with ${prefix}`);
  const asked = readVersionTag(name, prefix);
  if (!asked) return because('NotAVersion', `${name} isn't a version, because ${describeFlaw(name, prefix)}`);
  if (!range.test(asked.version)) return because('OutOfRange', `${name} isn't in the range ${text}${advice(asked)}`);
  const current = followed && readVersionTag(followed.winner.target.ref, prefix);
  if (current && asked.version.compare(current.version) <= 0) return { reason: 'NotNewest' as const, message: present };
  return because('TagNotFound', `the repository doesn't have the tag ${name}`);
}

/** A short name can be a branch as well, which makes no difference. */
const mayBeTag = (ref: string): boolean =>
  ref.startsWith(TAGS) || !(ref === 'HEAD' || ref.startsWith('refs/') || isCommitHash(ref));

const advice = ({ version }: VersionTag): string =>
  version.prerelease.length > 0 ? ', because prereleases count only if the range names one' : '';

/** What is followed with `spec.git.semver`. */
function followedWords(context: RangeContext, followed: Followed | undefined): string {
  const range = describeRange(context);
  const field = context.prefix === '' ? 'spec.git.semver' : 'spec.git.semver and spec.git.tagPrefix';
  if (!followed) return `only tags in ${range} (${field}) are followed, and the repository has none`;
  return `${followed.winner.target.ref} is followed, the newest tag in ${range} (${field})`;
}
