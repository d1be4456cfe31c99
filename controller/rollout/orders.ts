import type { RolloutPhase } from '../../shared/api/rollout.ts';
import type { Release, RolloutInput, RolloutState } from './rollout-input.ts';
import { begin, handledOf, isSame, releaseOf, rollBack, stableOf } from './transitions.ts';

/** Phases in which a release was given up. */
const GIVEN_UP: readonly RolloutPhase[] = ['Stopped', 'RollingBack', 'RolledBack'];

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
    const target = targetOf(rollback, next);
    if (target) next = rollBack(next, target, input);
  }
  // An order that is gone may come again.
  const { handled: _, ...rollout } = next.rollout;
  return { ...next, rollout: { ...rollout, ...handledOf(input) } };
}

/** What to go back to: the stable release while another is on its way, else the one before; or a commit of the history. */
function targetOf(value: string, { rollout, history }: RolloutState): Release | undefined {
  const stable = stableOf(rollout);
  if (value === 'previous') {
    const isOther = !isSame(releaseOf(rollout), stable) && rollout.phase !== 'RolledBack';
    return isOther ? stable : history.find((entry) => !isSame(entry, stable));
  }
  return history.find((entry) => entry.commit === value && !isSame(entry, stable));
}
