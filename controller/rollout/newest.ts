import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { isInProgress, isSame, type Release, releaseOf, stableOf } from '../../shared/domain/releases.ts';
import { waitBefore } from './approval.ts';
import { begin, givenUpName, givenUpWith, returnToStable } from './lifecycle.ts';
import { failuresIn, judgePreview } from './preview.ts';
import { changesNothing } from './pursue.ts';
import type { RolloutInput, RolloutState, Wait } from './rollout-input.ts';
import { standingOf } from './standing.ts';

const outdatedPods = ({ gateways }: RolloutInput): string[] =>
  gateways.flatMap(({ isOutdated, name }) => (isOutdated ? name : []));

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

/** Starts the newest release as soon as the first wave that it changes can begin. */
export function startNewest(state: RolloutState, input: RolloutInput): RolloutState {
  const { rollout } = state;
  const { wanted } = input;
  const news = newsOf(rollout, input);
  // A waiting release keeps waiting while the newest one is unknown.
  if (!wanted) return state;
  if (news === 'current') return withNext(state, undefined);
  // The release that all gateways have, or return to, needs no approval.
  if (news === 'stable') return returnToStable(state, input);
  // An abandoned release isn't newer: the current rollout continues.
  if (news === 'givenUp') return withNext(state, isInProgress(rollout) ? undefined : wanted);
  if (news === 'moved')
    return withNext({ ...state, rollout: { ...rollout, givenUp: givenUpWith(rollout, wanted) } }, wanted);
  const waits = outdatedPods(input).length > 0 || waitToBegin(state, wanted, input);
  return waits ? withNext(state, wanted) : begin(state, wanted, input);
}

/** Returns the release to preview: the newest one if it isn't rolled out yet, otherwise the one in progress. */
export function candidateOf(rollout: RolloutStatus, input: RolloutInput): Release | undefined {
  const news = newsOf(rollout, input);
  if (news === 'newer') return input.wanted;
  if (news === 'unknown' && rollout.nextCommit !== undefined) return rollout.preview && releaseOf(rollout.preview);
  return isInProgress(rollout) && news !== 'stable' ? releaseOf(rollout) : undefined;
}

/** Returns why a newer release waits or, if there is none, whether outdated pods block the rollout. */
export function waitOf(state: RolloutState, input: RolloutInput): Wait {
  const { rollout } = state;
  const { wanted } = input;
  const pods = outdatedPods(input);
  const isActive = isInProgress(rollout) || rollout.nextCommit !== undefined;
  if (pods.length > 0 && isActive) return { kind: 'outdated', pods };
  if (!wanted || rollout.nextCommit === undefined) return { kind: 'none' };
  if (isGivenUp(rollout, wanted)) return { kind: 'givenUp' };
  return waitToBegin(state, wanted, input) ?? { kind: 'none' };
}

/**
 * Returns why a newer release can't begin. Waves that it leaves unchanged need no approval or window. A release that
 * can't be delivered begins, and so stops, without an approval in vain, unless gateways would lose another one.
 */
function waitToBegin(state: RolloutState, release: Release, input: RolloutInput): Wait | undefined {
  const { rollout } = state;
  const preview = judgePreview(release, rollout, input);
  if (!preview.isOver) return waitBefore(0, release, { rollout, input });
  if (hasNoAdmitted(rollout) && failuresIn(preview, input).length > 0) return undefined;
  const begun = begin(state, release, input).rollout;
  const standing = standingOf(begun, input);
  if (changesNothing(begun, standing)) return undefined;
  const first = standing.waves.findIndex(({ isUnchanged, hadChanges }) => hadChanges || !isUnchanged);
  return waitBefore(first, release, { rollout, input });
}

/** Whether the release of a rollout is also the stable one, or no gateway is admitted to it. */
const hasNoAdmitted = ({ phase, admittedAt }: RolloutStatus): boolean =>
  phase === 'Complete' || phase === 'RolledBack' || (phase === 'Stopped' && admittedAt === undefined);

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

function withNext({ rollout, history }: RolloutState, next: Release | undefined): RolloutState {
  return { history, rollout: { ...rollout, nextCommit: next?.commit } };
}
