import { GIVEN_UP, releaseOf, rollbackTarget } from '../../shared/domain/releases.ts';
import type { RolloutInput, RolloutState } from './rollout-input.ts';
import { begin, handledOf, rollBack } from './transitions.ts';

/** Does what people ask for by annotations, each once: an annotation that stays says nothing new. */
export function obey(state: RolloutState, input: RolloutInput): RolloutState {
  const { rollback, retry } = input;
  const { handled = {} } = state.rollout;
  let next = state;
  if (retry !== undefined && retry !== handled.retry) {
    const { rollout } = next;
    const isMeant = GIVEN_UP.includes(rollout.phase) && retry === rollout.commit;
    const { givenUp, ...rest } = rollout;
    if (isMeant) next = begin(next, releaseOf(rollout), input);
    else if (givenUp?.some((release) => release.startsWith(`${retry} `))) next = { ...next, rollout: rest };
  }
  if (rollback !== undefined && rollback !== handled.rollback) {
    const target = rollbackTarget(rollback, next);
    if (target) next = rollBack(next, target, input);
  }
  // An order that is gone may come again.
  const { handled: _, ...rollout } = next.rollout;
  return { ...next, rollout: { ...rollout, ...handledOf(input) } };
}
