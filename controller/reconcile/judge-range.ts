import type { Followed } from '../intent/followed.ts';
import { slowedWords } from '../intent/many-tags.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { Verdict } from './merge-conditions.ts';

/** Judges the tag that is followed for `spec.git.semver`. */
export function judgeRange(
  { winner: { target }, resolved: { commit }, isDeleted, refs }: Followed,
  { spec }: Pick<ObservedGatewaySync, 'spec'>,
): Verdict {
  const { ref, range } = target;
  const slowed = slowedWords(spec, refs);
  if (!isDeleted)
    return {
      status: 'True',
      reason: 'Resolved',
      message: `${ref}, the newest tag in the range ${range}, is ${commit}${slowed}`,
    };
  return {
    status: 'True',
    reason: 'TagDeleted',
    message: `the repository no longer has the tag ${ref}, and no newer one in the range ${range}: ${commit} stays in place; push a newer tag, or edit spec.git.semver to choose another${slowed}`,
  };
}
