import { GIVEN_UP, isSame, type Release, releaseOf, rollbackTarget } from '../../shared/domain/releases.ts';
import { begin, givenUpWith, handledOf, rollBack, unlessEmpty } from './lifecycle.ts';
import type { RolloutInput, RolloutState } from './rollout-input.ts';

/** Does what people ask for by annotations, each once: an annotation that stays says nothing new. */
export function obey(state: RolloutState, input: RolloutInput): RolloutState {
  const { rollback, retry } = input;
  const { handled = {} } = state.rollout;
  let next = state;
  const ignored = new Set(handled.ignored);
  if (retry !== handled.retry) ignored.delete('retry-rollout');
  if (rollback !== handled.rollback) ignored.delete('rollback');
  if (retry !== undefined && retry !== handled.retry) {
    const tried = tryAgain(next, retry, input);
    if (!tried) ignored.add('retry-rollout');
    next = tried ?? next;
  }
  if (rollback !== undefined && rollback !== handled.rollback) {
    const target = rollbackTarget(rollback, next);
    if (!target) ignored.add('rollback');
    else next = rollBack(withoutUnseen(next, target, input), target, input);
  }
  // An order that is gone may come again.
  return { ...next, rollout: { ...next.rollout, handled: handledOf(input, [...ignored].sort()) } };
}

/** Begins again with what was given up, or lets it come again; undefined where that commit was not. */
function tryAgain(state: RolloutState, commit: string, input: RolloutInput): RolloutState | undefined {
  const { rollout } = state;
  if (GIVEN_UP.includes(rollout.phase) && commit === rollout.commit) return begin(state, releaseOf(rollout), input);
  const { givenUp = [] } = rollout;
  const others = givenUp.filter((release) => !release.startsWith(`${commit} `));
  return others.length < givenUp.length
    ? { ...state, rollout: { ...rollout, givenUp: unlessEmpty(others) } }
    : undefined;
}

/** Who goes back does not ask for what came with the order, which nobody has seen in the status yet. */
function withoutUnseen(state: RolloutState, target: Release, { wanted }: RolloutInput): RolloutState {
  const { rollout } = state;
  const { nextCommit, nextRevision, revision, stableRevision } = rollout;
  const wasKept = nextRevision === undefined ? [revision, stableRevision] : [nextRevision];
  const isNext = wanted?.commit === nextCommit && wasKept.includes(wanted?.revision ?? '');
  const isKnown = !wanted || isNext || isSame(wanted, releaseOf(rollout));
  if (isKnown || isSame(wanted, target)) return state;
  return { ...state, rollout: { ...rollout, givenUp: givenUpWith(rollout, wanted) } };
}
