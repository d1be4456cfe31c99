import { describeFlaw } from '../../intent/describe-flaw.ts';
import type { Followed } from '../../intent/followed.ts';
import { slowedWords } from '../../intent/many-tags.ts';
import {
  describeRange,
  looksLikeUpdate,
  newestUnreadable,
  readRange,
  readVersionTag,
} from '../../polling/version-tags.ts';
import type { ObservedGatewaySync } from '../../watch/observed-gateway-sync.ts';
import type { Verdict } from './merge-conditions.ts';

/** Judges the tag that is followed for `spec.git.semver`. */
export function judgeRange(followed: Followed, { spec }: Pick<ObservedGatewaySync, 'spec'>): Verdict {
  const { isDeleted, found } = followed;
  const { ref, range: text = '', tagPrefix: prefix = '' } = followed.winner.target;
  const { commit } = followed.resolved;
  const range = describeRange({ text, prefix });
  const notes = `${missedWords(followed)}${slowedWords(spec, found)}`;
  if (!isDeleted)
    return { status: 'True', reason: 'Resolved', message: `${ref}, the newest tag in ${range}, is ${commit}${notes}` };
  return {
    status: 'True',
    reason: 'TagDeleted',
    message: `the repository no longer has the tag ${ref}, and no newer one in ${range}: ${commit} stays in place; push a newer tag, or edit spec.git.semver to choose another${notes}`,
  };
}

/** The end of a message if the repository has a tag that looks newer than the followed one, but isn't a version. */
function missedWords({ found, winner: { target } }: Followed): string {
  const { ref, range: text = '', tagPrefix: prefix = '' } = target;
  const tag = newestUnreadable(found?.refs.keys() ?? [], prefix);
  const range = readRange(text);
  if (!tag || !range || !looksLikeUpdate(tag, readVersionTag(ref, prefix), range)) return '';
  return `; the tag ${tag.name} isn't followed, because ${describeFlaw(tag.name, prefix)}`;
}
