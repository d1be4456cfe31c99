import type { RolloutStatus } from '../../shared/api/rollout.ts';
import {
  canRetry,
  GIVEN_UP,
  isInProgress,
  isSame,
  type Release,
  releaseOf,
  rollbackTarget,
} from '../../shared/domain/rollout/releases.ts';
import { ALL, NO_GATEWAY } from '../../shared/domain/rollout/waves.ts';
import { currentWave, makeAdmission } from './admission.ts';
import { EVERY_CHANGE, showsNoChanges } from './approval.ts';
import { approvedRevisionOf } from './approved-release.ts';
import type { Move, RolloutState } from './moves.ts';
import { previewOf } from './preview.ts';
import type { RolloutInput } from './rollout-input.ts';
import { begin, change, givenUpWith, handledOf, inAnyWave, isNext, rollBack, unlessEmpty } from './transitions.ts';

// Orders are annotations. Each has an effect once: an unchanged annotation has no further one, and an order that was
// removed can be set again.

/** Notes an approval, with the changes that it applies to if that is all of them. */
export function approvalOrdered(state: RolloutState, input: RolloutInput): Move | undefined {
  const { rollout } = state;
  const { approved } = input;
  const { handled = {}, phase } = rollout;
  const approvedRevision = approved === undefined ? undefined : approvedRevisionOf(approved, rollout);
  if (handled.approve === approved && handled.approvedRevision === approvedRevision) return undefined;
  const approving = { ...rollout, handled: { approve: approved, approvedRevision } };
  const isOfAll = approvedRevision !== undefined && showsNoChanges(approving, input);
  const approvedDigests = isOfAll ? [EVERY_CHANGE] : undefined;
  const isIgnored = approved !== undefined && approvedRevision === undefined;
  return {
    to: phase,
    state: noted(state, 'approve', { approve: approved, approvedRevision, approvedDigests }, isIgnored),
  };
}

/** Starts an abandoned commit again, or allows it to start. */
export function retryOrdered(before: RolloutState, input: RolloutInput): Move | undefined {
  const { retry } = input;
  const { handled, phase, commit, givenUp = [] } = before.rollout;
  if (retry === handled?.retry) return undefined;
  const isIgnored = retry !== undefined && !canRetry(retry, before.rollout);
  const state = noted(before, 'retry-rollout', { retry }, isIgnored);
  if (retry === undefined || isIgnored) return { to: phase, state };
  if (!GIVEN_UP.includes(phase) || retry !== commit) {
    const others = givenUp.filter((release) => !release.startsWith(`${retry} `));
    return { to: phase, state: change(state, { givenUp: unlessEmpty(others) }) };
  }
  // The agents make another preview when the status has named none for a moment.
  const preview = previewOf(state.rollout, state.rollout) ? undefined : state.rollout.preview;
  return { to: 'Previewing', state: begin(change(state, { preview }), releaseOf(state.rollout), input) };
}

/** Rolls back to the ordered release, if the history has it. */
export function rollbackOrdered(before: RolloutState, input: RolloutInput): Move | undefined {
  const { rollback } = input;
  const { handled, phase } = before.rollout;
  if (rollback === handled?.rollback) return undefined;
  const target = rollback === undefined ? undefined : rollbackTarget(rollback, before);
  const state = noted(before, 'rollback', { rollback }, rollback !== undefined && !target);
  if (!target) return { to: phase, state };
  return { to: 'RollingBack', state: rollBack(withoutUnseen(state, target, input), target, input) };
}

/**
 * Handles edited waves. No gateway is admitted any longer, because the earlier admissions don't fit, and a rollout in
 * progress begins again at the first wave.
 */
export function wavesWereEdited(state: RolloutState, input: RolloutInput): Move | undefined {
  const { rollout } = state;
  const { spec, wavesHash, gateways } = input;
  const isLost = isInProgress(rollout) && currentWave(rollout) === undefined;
  if (rollout.plan === wavesHash && !isLost) return undefined;
  if (isInProgress(rollout)) return { to: 'Previewing', state: begin(state, releaseOf(rollout), input) };
  const admitted = rollout.phase === 'Complete' ? ALL : NO_GATEWAY;
  const admission = makeAdmission(spec, gateways, { admitted, before: rollout.admission });
  return {
    to: rollout.phase,
    state: change(state, {
      wave: undefined,
      plan: wavesHash,
      admission,
      preview: inAnyWave(rollout.preview, admission),
    }),
  };
}

type Handled = NonNullable<RolloutStatus['handled']>;

/** Notes the value of an order, and whether it has no effect. */
function noted(
  state: RolloutState,
  order: NonNullable<Handled['ignored']>[number],
  values: Partial<Handled>,
  isIgnored: boolean,
): RolloutState {
  const { handled = {} } = state.rollout;
  const others = (handled.ignored ?? []).filter((each) => each !== order);
  const ignored = unlessEmpty((isIgnored ? [...others, order] : others).sort());
  return change(state, { handled: handledOf({ ...handled, ...values, ignored }) });
}

/** Abandons a commit that arrived together with a rollback order, because the user hasn't seen it in the status yet. */
function withoutUnseen(state: RolloutState, target: Release, { newest }: RolloutInput): RolloutState {
  const { rollout } = state;
  const isKnown = !newest || isNext(newest, rollout) || isSame(newest, rollout);
  if (isKnown || isSame(newest, target)) return state;
  return change(state, { givenUp: givenUpWith(rollout, newest) });
}
