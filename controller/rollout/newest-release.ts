import type { RolloutStatus } from '../../shared/api/rollout.ts';
import {
  entryOf,
  hasUnfinished,
  isInProgress,
  isSame,
  type Release,
  releaseOf,
  stableOf,
} from '../../shared/domain/rollout/releases.ts';
import { waitBefore } from './approval.ts';
import { type Facts, factsOf, type Wait } from './facts.ts';
import { stopBefore } from './give-up.ts';
import type { Move } from './moves.ts';
import { failuresIn, isPreviewed } from './preview.ts';
import type { RolloutInput } from './rollout-input.ts';
import { begin, isNext, returnToStable } from './transitions.ts';

/** Relation of the newest release to the others. */
function relationOf(rollout: RolloutStatus, input: RolloutInput) {
  const { newest } = input;
  if (!newest) return 'unknown';
  if (isSame(newest, rollout)) return 'current';
  if (isSame(newest, stableOf(rollout) ?? {})) return 'stable';
  if (rollout.givenUp?.includes(entryOf(newest))) return 'givenUp';
  return 'newer';
}

/** Starts the newest release as soon as the first wave that it changes can begin. */
export function judgeNewest(
  rollout: RolloutStatus,
  input: RolloutInput,
): Pick<Facts, 'rollout' | 'start' | 'newestWait'> {
  const { newest } = input;
  // A release that waits keeps waiting while the newest one is unknown; one in progress continues.
  if (!newest) return { rollout, newestWait: rollout.nextCommit === undefined ? undefined : { kind: 'none' } };
  const none = { rollout: withNext(rollout, undefined), newestWait: undefined };
  const hold = (newestWait: Wait) => ({ rollout: withNext(rollout, newest), newestWait });
  switch (relationOf(rollout, input)) {
    case 'unknown':
    case 'current':
      return none;
    case 'stable':
      // The release that all gateways have, or return to, needs no approval.
      return { rollout, start: { to: 'Complete', rollout: returnToStable(rollout, input) } };
    case 'givenUp':
      // An abandoned release isn't newer: the current rollout continues.
      return isInProgress(rollout) ? none : hold({ kind: 'givenUp' });
    case 'newer': {
      const wait = waitToBegin(rollout, newest, input);
      return wait ? hold(wait) : { rollout, start: startOf(newest, rollout, input) };
    }
  }
}

/**
 * Starts a release. If its preview has shown that it can't be delivered, it stops at once, because gateways that leave
 * an unfinished release have no preview of this one.
 */
function startOf(release: Release, rollout: RolloutStatus, input: RolloutInput): Move {
  const begun = begin(rollout, release, input);
  const failures = isPreviewed(release, rollout, input) ? failuresIn(rollout, input) : [];
  return failures.length > 0 ? stopBefore(begun, failures) : { to: 'Previewing', rollout: begun };
}

/**
 * Returns the release to preview: the newest one if it isn't rolled out yet, otherwise the one that is in progress, or
 * that its preview stopped.
 */
export function candidateOf(rollout: RolloutStatus, input: RolloutInput): Release | undefined {
  const relation = relationOf(rollout, input);
  if (relation === 'newer') return input.newest;
  if (relation === 'unknown' && rollout.nextCommit !== undefined) return rollout.preview && releaseOf(rollout.preview);
  const isShown = isInProgress(rollout) || rollout.previewFailure !== undefined;
  return isShown && relation !== 'stable' ? releaseOf(rollout) : undefined;
}

/**
 * Returns why a newer release can't begin. Gateways keep a release in progress until the newer one is previewed. Waves
 * that it leaves unchanged need no approval or window. A release that can't be delivered begins, and so stops, without
 * waiting for an approval, unless gateways would lose another one.
 */
function waitToBegin(rollout: RolloutStatus, release: Release, input: RolloutInput): Wait | undefined {
  const begun = begin(rollout, release, input);
  // Approvals and the preview are those of the status, but gateways can then belong to other waves.
  const moved = { ...rollout, admission: begun.admission };
  const gateOf = (wave: number): Wait | undefined => {
    const kind = waitBefore(wave, release, { rollout: moved, input });
    return kind && { kind };
  };
  if (!isPreviewed(release, rollout, input)) {
    const isHeld = isInProgress(rollout) && rollout.admittedAt !== undefined;
    return isHeld || gateOf(0) ? { kind: 'preview' } : undefined;
  }
  if (!hasUnfinished(rollout) && failuresIn(rollout, input).length > 0) return undefined;
  const { changesNothing, waves } = factsOf({ ...begun, phase: 'Previewing' }, input);
  return changesNothing ? undefined : gateOf(waves.findIndex(({ canBeSkipped }) => !canBeSkipped));
}

/** Notes the release that waits. If it is another one, its wait begins now. */
function withNext(rollout: RolloutStatus, next: Release | undefined): RolloutStatus {
  const isKnown = next ? isNext(next, rollout) : rollout.nextCommit === undefined;
  const waitsFor = isKnown ? rollout.waitsFor : undefined;
  return { ...rollout, nextCommit: next?.commit, nextRevision: next?.revision, nextRelease: next?.release, waitsFor };
}
