import type { RolloutStatus } from '../../shared/api/rollout.ts';
import {
  hasUnfinished,
  isInProgress,
  isSame,
  type Release,
  releaseOf,
  stableOf,
} from '../../shared/domain/releases.ts';
import { waitBefore } from './approval.ts';
import { previewFailureOf } from './failure-messages.ts';
import { stopBefore } from './give-up.ts';
import { begin, givenUpName, givenUpWith, isNext, returnToStable } from './lifecycle.ts';
import { failuresIn, isPreviewed } from './preview.ts';
import { changesNothing } from './pursue.ts';
import type { Advanced, RolloutInput, RolloutState, Wait } from './rollout-input.ts';
import { standingOf } from './standing.ts';

/** Relation of the newest release to the others. */
type News = 'unknown' | 'current' | 'stable' | 'givenUp' | 'moved' | 'newer';

function newsOf(rollout: RolloutStatus, input: RolloutInput): News {
  const { wanted } = input;
  if (!wanted) return 'unknown';
  if (isSame(wanted, rollout)) return 'current';
  if (isSame(wanted, stableOf(rollout))) return 'stable';
  if (isGivenUp(rollout, wanted)) return 'givenUp';
  return isOnlyMoved(rollout, wanted, input) ? 'moved' : 'newer';
}

/**
 * Starts the newest release as soon as the first wave that it changes can begin. Returns why it waits, or whether
 * outdated pods block the rollout.
 */
export function startNewest(state: RolloutState, input: RolloutInput): Advanced {
  const { rollout } = state;
  const { wanted } = input;
  const news = newsOf(rollout, input);
  const pods = input.gateways.flatMap(({ isOutdated, name }) => (isOutdated ? name : []));
  const outdated: Wait | undefined = pods.length > 0 ? { kind: 'outdated', pods } : undefined;
  const go = (next: RolloutState): Advanced => ({ state: next, wait: outdated ?? { kind: 'none' } });
  const hold = (next: RolloutState, wait: Wait): Advanced => ({
    state: withNext(next, wanted),
    wait: outdated ?? wait,
  });
  // A waiting release keeps waiting while the newest one is unknown.
  if (!wanted) return go(state);
  if (news === 'current') return go(withNext(state, undefined));
  // The release that all gateways have, or return to, needs no approval.
  if (news === 'stable') return go(returnToStable(state, input));
  // An abandoned release isn't newer: the current rollout continues.
  if (news === 'givenUp')
    return isInProgress(rollout) ? go(withNext(state, undefined)) : hold(state, { kind: 'givenUp' });
  if (news === 'moved')
    return hold({ ...state, rollout: { ...rollout, givenUp: givenUpWith(rollout, wanted) } }, { kind: 'givenUp' });
  const wait = outdated ?? waitToBegin(state, wanted, input);
  if (wait) return hold(state, wait);
  const begun = begin(state, wanted, input);
  const failures = isPreviewed(wanted, rollout, input) ? failuresIn(rollout, input) : [];
  return go(failures.length > 0 ? stopBefore(begun, previewFailureOf(failures)) : begun);
}

/**
 * Returns the release to preview: the newest one if it isn't rolled out yet, otherwise the one that is in progress, or
 * that its preview stopped.
 */
export function candidateOf(rollout: RolloutStatus, input: RolloutInput): Release | undefined {
  const news = newsOf(rollout, input);
  if (news === 'newer') return input.wanted;
  if (news === 'unknown' && rollout.nextCommit !== undefined) return rollout.preview && releaseOf(rollout.preview);
  const isShown = isInProgress(rollout) || rollout.previewFailure !== undefined;
  return isShown && news !== 'stable' ? releaseOf(rollout) : undefined;
}

/**
 * Returns why a newer release can't begin. Gateways keep a release in progress until the newer one is previewed. Waves
 * that it leaves unchanged need no approval or window. A release that can't be delivered begins, and so stops, without
 * an approval in vain, unless gateways would lose another one.
 */
function waitToBegin(state: RolloutState, release: Release, input: RolloutInput): Wait | undefined {
  const { rollout } = state;
  if (!isPreviewed(release, rollout, input)) {
    const isHeld = isInProgress(rollout) && rollout.admittedAt !== undefined;
    return isHeld || waitBefore(0, release, { rollout, input }) ? { kind: 'preview' } : undefined;
  }
  if (!hasUnfinished(rollout) && failuresIn(rollout, input).length > 0) return undefined;
  const begun = begin(state, release, input).rollout;
  const standing = standingOf(begun, input);
  if (changesNothing(begun, standing)) return undefined;
  const first = standing.waves.findIndex(({ isUnchanged, hadChanges }) => hadChanges || !isUnchanged);
  return waitBefore(first, release, { rollout, input });
}

const isGivenUp = ({ givenUp = [] }: RolloutStatus, release: Release): boolean =>
  givenUp.includes(givenUpName(release));

/**
 * Whether a wanted release is the version that was rolled back, and its tag was moved since then. It is abandoned once,
 * so that it can be retried.
 */
const isOnlyMoved = (rollout: RolloutStatus, { commit, revision }: Release, { isSameVersion }: RolloutInput): boolean =>
  isSameVersion === true &&
  (rollout.phase === 'RollingBack' || rollout.phase === 'RolledBack') &&
  revision === rollout.revision &&
  commit !== rollout.nextCommit;

/** Notes the release that waits. Another one hasn't waited for anything yet. */
function withNext({ rollout, history }: RolloutState, next: Release | undefined): RolloutState {
  const isKnown = next ? isNext(next, rollout) : rollout.nextCommit === undefined;
  const waitsFor = isKnown ? rollout.waitsFor : undefined;
  return { history, rollout: { ...rollout, nextCommit: next?.commit, nextRevision: next?.revision, waitsFor } };
}
