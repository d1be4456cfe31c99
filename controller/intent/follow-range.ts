import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import {
  describeRange,
  newestInRange,
  newestUnreadable,
  readRange,
  readVersionTag,
  TAGS,
} from '../polling/version-tags.ts';
import { describeFlaw } from './describe-flaw.ts';
import type { Followed, Settled } from './followed.ts';
import { keptTag } from './kept-tag.ts';
import { slowedWords } from './many-tags.ts';
import type { RangeContext } from './range-context.ts';
import { rangeOutcomes } from './range-outcomes.ts';

/**
 * Follows the newest tag in the range. It never goes back to an older tag while the range and the repository stay the
 * same: if the tag that is followed is deleted, its commit stays until the range has that version or a newer one.
 */
export function followRange(context: Omit<RangeContext, 'range'>): Settled {
  const range = readRange(context.text);
  if (!range) return { followed: undefined, problem: invalidRange(context.text), echo: {}, requeryInMs: undefined };
  const inRange = { ...context, range };
  const followed = chooseTag(inRange);
  return { followed, problem: noMatchingTag(inRange), ...rangeOutcomes(inRange, followed) };
}

function chooseTag({ gatewaySync, intents, text, prefix, range, found }: RangeContext): Followed | undefined {
  const { refs } = found;
  const newest = newestInRange(refs.keys(), prefix, range);
  const name = keptTag(gatewaySync);
  const kept = name === undefined ? undefined : readVersionTag(name, prefix);
  const isKeptThere = kept !== undefined && refs.has(`${TAGS}${kept.name}`);
  const isNewer = newest && (!kept || newest.version.compare(kept.version) >= (isKeptThere ? 1 : 0));
  const tag = isNewer ? newest : kept;
  const commit = tag && (refs.get(`${TAGS}${tag.name}`) ?? gatewaySync.status.lastSyncCommit);
  if (!tag || commit === undefined) return undefined;
  const tagPrefix = prefix === '' ? undefined : prefix;
  const target = withoutUndefined({ ref: tag.name, range: text, tagPrefix, source: 'Spec' as const });
  const winner = { target, at: intents.edit.at };
  const resolved = { commit, qualifiedRef: `${TAGS}${tag.name}`, ambiguous: false };
  return { winner, resolved, isDeleted: !isNewer && !isKeptThere, found };
}

function invalidRange(text: string): Settled['problem'] {
  return {
    reason: 'InvalidRange',
    message: `spec.git.semver "${text}" isn't a range of versions: use one such as ~1.4; a prerelease needs three numbers, such as >=1.5.0-0`,
  };
}

function noMatchingTag(context: RangeContext): Settled['problem'] {
  const { gatewaySync, prefix, found } = context;
  const field = prefix === '' ? 'spec.git.semver' : 'spec.git.semver or spec.git.tagPrefix';
  const remedy = `push a tag, or change ${field}${slowedWords(gatewaySync.spec, found)}`;
  const failure = `no tag is in ${describeRange(context)}: the repository has`;
  const count = found.tags?.counts.get(prefix) ?? 0;
  const tags = `${count || 'no'} ${count === 1 ? 'tag' : 'tags'}${prefix === '' ? '' : ` with the prefix ${prefix}`}`;
  const newest = newestInRange(found.refs.keys(), prefix);
  if (newest)
    return {
      reason: 'NoMatchingTag',
      message: `${failure} ${tags}, and the newest version is ${newest.name}; ${remedy}`,
    };
  if (count === 0) return { reason: 'NoMatchingTag', message: `${failure} ${tags}; ${remedy}` };
  const message = `${failure} ${tags}, and none is a version such as ${prefix}v1.2.3${exampleIn(context)}; ${remedy}`;
  return { reason: 'NoVersionTag', message };
}

function exampleIn({ found, prefix }: RangeContext): string {
  const tag = newestUnreadable(found.refs.keys(), prefix);
  return tag ? ` (${tag.name} isn't one, because ${describeFlaw(tag.name, prefix)})` : '';
}
