import type { RolloutPhase } from '../../shared/api/rollout.ts';
import { stableOf } from '../../shared/domain/releases.ts';
import { NO_GATEWAY } from '../../shared/domain/waves.ts';
import { notRolledBack } from './judge-gateway.ts';
import { givenUpWith, rollBack, unlessEmpty } from './lifecycle.ts';
import type { RolloutInput, RolloutState } from './rollout-input.ts';

export const inPhase = (state: RolloutState, phase: RolloutPhase): RolloutState => ({
  ...state,
  rollout: { ...state.rollout, phase },
});

/** Stops after too many failures, or rolls back all gateways. A newer commit keeps waiting. */
export function giveUp(state: RolloutState, input: RolloutInput): RolloutState {
  const { rollout } = state;
  const failures = unlessEmpty(rollout.failures?.slice(0, (input.spec.maxFailures ?? 0) + 1));
  if (input.spec.onFailure !== 'Rollback') {
    const stopped = { ...rollout, failures, givenUp: givenUpWith(rollout, rollout) };
    return inPhase({ ...state, rollout: stopped }, 'Stopped');
  }
  const { nextCommit, nextRevision, failureMessage } = rollout;
  const back = rollBack(state, stableOf(rollout), input);
  const waiting = { nextCommit, nextRevision };
  return continueRollback({ ...back, rollout: { ...back.rollout, failures, failureMessage, ...waiting } }, input);
}

/**
 * Stops a release before a gateway gets it because it can't be delivered to some. Unchanged waves that were passed over
 * return to the stable release as well.
 */
export function stopBefore({ history, rollout }: RolloutState, previewFailure: string): RolloutState {
  const admission = rollout.admission.map((entry) => ({ ...entry, admitted: NO_GATEWAY }));
  const stopped = { ...rollout, admission, previewFailure, givenUp: givenUpWith(rollout, rollout) };
  return inPhase({ history, rollout: stopped }, 'Stopped');
}

/** Rolls back until all gateways are back, or the deadline has passed. */
export function continueRollback(state: RolloutState, { gateways, deadlineMs, now }: RolloutInput): RolloutState {
  const { rollout } = state;
  const isOver = now - Date.parse(rollout.startedAt) >= deadlineMs;
  const isDone = isOver || notRolledBack(rollout, gateways).length === 0;
  return isDone ? inPhase(state, 'RolledBack') : state;
}
