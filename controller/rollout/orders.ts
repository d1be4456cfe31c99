import type { RolloutPhase } from '../../shared/api/rollout.ts';
import type { Release, RolloutInput, RolloutState } from './rollout-input.ts';
import { begin, isSame, releaseOf, rollBack, stableOf } from './transitions.ts';

/** Phases in which a release was given up. */
const GIVEN_UP: readonly RolloutPhase[] = ['Stopped', 'RollingBack', 'RolledBack'];

/** Does what people ask for by annotations, each once. */
export function obey(state: RolloutState, input: RolloutInput): RolloutState {
  const { rollback, retry } = input;
  const { handled = {} } = state.rollout;
  let next = state;
  if (retry && retry.id !== handled.retry) {
    const { rollout } = next;
    const isMeant = GIVEN_UP.includes(rollout.phase) && retry.value === rollout.commit;
    next = noted(isMeant ? begin(next, releaseOf(rollout), input) : next, { retry: retry.id });
  }
  if (rollback && rollback.id !== handled.rollback) {
    const target = targetOf(rollback.value, next);
    next = noted(target ? rollBack(next, target, input) : next, { rollback: rollback.id });
  }
  return next;
}

const noted = ({ rollout, history }: RolloutState, handled: { retry?: string; rollback?: string }): RolloutState => ({
  history,
  rollout: { ...rollout, handled: { ...rollout.handled, ...handled } },
});

/** What to go back to: the stable release while another is on its way, else the one before; or a commit of the history. */
function targetOf(value: string, { rollout, history }: RolloutState): Release | undefined {
  const stable = stableOf(rollout);
  if (value === 'previous') {
    const isOther = !isSame(releaseOf(rollout), stable) && rollout.phase !== 'RolledBack';
    return isOther ? stable : history.find((entry) => !isSame(entry, stable));
  }
  return history.find(({ commit }) => commit === value);
}
