import type { RolloutPhase, RolloutStatus } from '../../shared/api/rollout.ts';
import type { Release, RolloutInput, RolloutState } from './rollout-input.ts';
import { begin, isSame, releaseOf, rollBack, stableOf } from './transitions.ts';

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
  return { ...next, rollout: withHandled(next.rollout, input) };
}

/** Notes the orders that there are; one that is gone may come again. */
function withHandled<T extends Pick<RolloutStatus, 'handled'>>(
  { handled: _, ...rollout }: T,
  { rollback, retry }: Pick<RolloutInput, 'rollback' | 'retry'>,
) {
  const handled = { ...(rollback !== undefined && { rollback }), ...(retry !== undefined && { retry }) };
  return { ...rollout, ...(Object.keys(handled).length > 0 && { handled }) };
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
