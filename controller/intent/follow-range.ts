import type { Followed, Settled } from './followed.ts';
import { keptTag } from './kept-tag.ts';
import { slowedWords } from './many-tags.ts';
import { newestInRange, readRange, readVersionTag, TAGS } from './newest-in-range.ts';
import type { RangeContext } from './range-context.ts';
import { rangeOutcomes } from './range-outcomes.ts';
import { TAG_COUNT } from './resolve-ref.ts';

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

function chooseTag({ gatewaySync, intents, text, range, refs }: RangeContext): Followed | undefined {
  const newest = newestInRange(refs.keys(), range);
  const name = keptTag(gatewaySync);
  const kept = name === undefined ? undefined : readVersionTag(name);
  const isKeptThere = kept !== undefined && refs.has(`${TAGS}${kept.name}`);
  const isNewer = newest && (!kept || newest.version.compare(kept.version) >= (isKeptThere ? 1 : 0));
  const tag = isNewer ? newest : kept;
  const commit = tag && (refs.get(`${TAGS}${tag.name}`) ?? gatewaySync.status.lastSyncCommit);
  if (!tag || commit === undefined) return undefined;
  const winner = { target: { ref: tag.name, range: text, source: 'Spec' as const }, at: intents.edit.at };
  const resolved = { commit, qualifiedRef: `${TAGS}${tag.name}`, ambiguous: false };
  return { winner, resolved, isDeleted: !isNewer && !isKeptThere, refs };
}

function invalidRange(text: string): Settled['problem'] {
  return {
    reason: 'InvalidRange',
    message: `spec.git.semver "${text}" isn't a range of versions: use one such as ~1.4; a prerelease needs three numbers, such as >=1.5.0-0`,
  };
}

function noMatchingTag({ gatewaySync: { spec }, text, refs }: RangeContext): Settled['problem'] {
  const count = Number(refs.get(TAG_COUNT) ?? 0);
  const tags = count === 1 ? '1 tag' : `${count} tags`;
  const newest = newestInRange(refs.keys());
  const versions = newest ? `the newest version is ${newest.name}` : 'none is a version such as v1.2.3';
  const message = `no tag is in the range ${text}: the repository has ${count === 0 ? 'no tags' : `${tags}, and ${versions}`}; push a tag, or change spec.git.semver${slowedWords(spec, refs)}`;
  return { reason: 'NoMatchingTag', message };
}
