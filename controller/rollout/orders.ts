import { GIVEN_UP, isSame, type Release, releaseOf, rollbackTarget } from '../../shared/domain/releases.ts';
import { begin, givenUpWith, handledOf, isNext, rollBack, unlessEmpty } from './lifecycle.ts';
import { previewOf } from './preview.ts';
import type { RolloutInput, RolloutState } from './rollout-input.ts';

/** Carries out orders from annotations, each once: an unchanged annotation has no further effect. */
export function applyOrders(state: RolloutState, input: RolloutInput): RolloutState {
  const { rollback, retry } = input;
  const { handled = {} } = state.rollout;
  let next = state;
  const ignored = new Set(handled.ignored);
  ignored.delete('approve');
  if (retry !== handled.retry) ignored.delete('retry-rollout');
  if (rollback !== handled.rollback) ignored.delete('rollback');
  if (retry !== undefined && retry !== handled.retry) {
    const tried = retryCommit(next, retry, input);
    if (!tried) ignored.add('retry-rollout');
    next = tried ?? next;
  }
  if (rollback !== undefined && rollback !== handled.rollback) {
    const target = rollbackTarget(rollback, next);
    if (!target) ignored.add('rollback');
    else next = rollBack(withoutUnseen(next, target, input), target, input);
  }
  // An order that was removed can be set again.
  return { ...next, rollout: { ...next.rollout, handled: handledOf(input, state.rollout, [...ignored].sort()) } };
}

/** Starts an abandoned commit again, or allows it to start; undefined if the commit wasn't abandoned. */
function retryCommit(state: RolloutState, commit: string, input: RolloutInput): RolloutState | undefined {
  const { rollout } = state;
  if (GIVEN_UP.includes(rollout.phase) && commit === rollout.commit) {
    // The agents make another preview when the status has named none for a moment.
    const preview = previewOf(rollout, rollout) ? undefined : rollout.preview;
    return begin({ ...state, rollout: { ...rollout, preview } }, releaseOf(rollout), input);
  }
  const { givenUp = [] } = rollout;
  const others = givenUp.filter((release) => !release.startsWith(`${commit} `));
  return others.length < givenUp.length
    ? { ...state, rollout: { ...rollout, givenUp: unlessEmpty(others) } }
    : undefined;
}

/** Abandons a commit that arrived together with a rollback order, because the user hasn't seen it in the status yet. */
function withoutUnseen(state: RolloutState, target: Release, { wanted }: RolloutInput): RolloutState {
  const { rollout } = state;
  const isKnown = !wanted || isNext(wanted, rollout) || isSame(wanted, rollout);
  if (isKnown || isSame(wanted, target)) return state;
  return { ...state, rollout: { ...rollout, givenUp: givenUpWith(rollout, wanted) } };
}
